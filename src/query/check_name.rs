//! Finds the meaning of names and registers in the frame, and defines the order in which scopes are searched.
//!
//! Sources: C17 §6.2.1; C++20 [basic.lookup.unqual] for members of `this`; gdb for `$pc`, `$sp` and `$fp`.

use std::rc::Rc;
use std::sync::Arc;

use super::around::OuterVariable;
use super::check::{Checked, Checker};
use super::class::{INT, IntegerType, Rank};
use super::error::{QueryError, QueryErrorKind, ambiguous};
use super::member::FoundMember;
use super::name_scope::{Entity, Named, start_of};
use super::names::{Found, MOST_NAMES, Reach};
use super::number::Number;
use super::step::{Action, AnyRegister, Calculation, StepId};
use super::syntax::{Binary, Path};
use crate::arch::{
    AddressSpace, CodeAddress, Register, RegisterClass, ScratchAddressing, UnnumberedRegister,
    WaveSize,
};
use crate::debug_info::types::{TypeId, TypeKind};
use crate::debug_info::{DieId, Variable};
use crate::nearest::Nearest;

/// HIP's variables for the position of a work-item, which code objects do not contain.
const BUILT_IN: [&str; 4] = ["threadIdx", "blockIdx", "blockDim", "gridDim"];

const OF_FUNCTION_AROUND: &str =
    "it is a variable of the function around this one, and no frame near this one has it";

const TYPE_WITHOUT_VALUE: &str = "a type has no value; use `sizeof` or a cast, `(T) x`";

impl<'a> Checker<'_, '_, '_, 'a> {
    /// Looks up a name: first variables of a block, then everything else by the scopes around the code.
    pub(super) fn name(&mut self, path: &Path<'_>) -> Checked<StepId> {
        if let Some(variable) = self.scope.local(path) {
            return self.variable(&variable);
        }
        // In another language, the name of a keyword can be a name of the program.
        let keyword = self.keyword(path);
        let reach = match keyword {
            Some(_) => Reach::Around,
            None => Reach::Program,
        };
        let mut found = self.value_named(path, reach, &|entity| entity.hides_values())?;
        let is_around = |found: &Found| level_of(found).is_some();
        if let Some(step) = self.variable_around(path, &found)? {
            return Ok(step);
        }
        let is_member = matches!(&found, Found::Entity(named, _) if named.entity == Entity::Member);
        if is_member || !is_around(&found) {
            if let Some(member) = self.member_of_this(path)? {
                return Ok(member);
            }
            if let Found::Entity(member, _) = &found
                && is_member
            {
                if self.is_member_of_class(member, path)? {
                    let what = "it is a member of a class of which the frame has no object, or which this unit only declares";
                    return Err(self.error(QueryErrorKind::Unsupported(what)));
                }
                // The member belongs to another member of the class, which has a type without a name.
                let is_other = |entity: Entity| entity.hides_values() && entity != Entity::Member;
                found = self.value_named(path, reach, &is_other)?;
                if let Some(step) = self.variable_around(path, &found)? {
                    return Ok(step);
                }
            }
        }
        if let Some(keyword) = keyword.filter(|_| !is_around(&found)) {
            return Ok(keyword);
        }
        let (named, hidden) = match found {
            Found::Entity(named, _) => (Some(named), Vec::new()),
            Found::Hidden(names) => (None, names),
            Found::Ambiguous(candidates, _) => {
                return Err(self.error(ambiguous(path, candidates)));
            }
        };
        let is_function = named
            .as_ref()
            .is_some_and(|named| named.entity == Entity::Function);
        if let Some(named) = named
            && let Some(step) = self.entity(&named, path)?
        {
            return Ok(step);
        }
        if let Some(constant) = self.constant_of_class(path)? {
            return self.constant_member(constant);
        }
        if path.scopes.is_empty() {
            let linked = self.scope.linked(path.name).map_err(self.fault())?;
            if let Some(variable) = linked {
                return self.variable(&variable);
            }
        }
        if is_function {
            let what = "the function has no code of its own: it is inlined, or declared only";
            return Err(self.error(QueryErrorKind::Unsupported(what)));
        }
        if !hidden.is_empty() {
            return Err(self.error(QueryErrorKind::UnknownName {
                name: path.to_string(),
                nearest: hidden,
                frame: None,
            }));
        }
        Err(self.unknown_name(path))
    }

    fn value_named(
        &mut self,
        path: &Path<'_>,
        reach: Reach,
        wanted: &dyn Fn(Entity) -> bool,
    ) -> Checked<Found> {
        let frame = self.scope.name_scopes();
        let found = (self.names).find(path, frame, reach, &|named| wanted(named.entity));
        found.map_err(self.fault())
    }

    /// Returns true if objects of the class around a member have it, and not only an object inside them.
    fn is_member_of_class(&mut self, member: &Named, path: &Path<'_>) -> Checked<bool> {
        let class = self.names.class_of(member).map_err(self.fault())?;
        let stop = self.scope.tree.frame.stop();
        let info = stop.program().info();
        let ty = info.read_type(&mut self.types.table, class, stop.meter());
        let ty = ty.map_err(self.fault())?;
        self.has_member(ty, &Path::of(path.name))
    }

    /// Returns the value of an entity, if it has one.
    fn entity(&mut self, named: &Named, path: &Path<'_>) -> Checked<Option<StepId>> {
        match named.entity {
            Entity::Enumerator { enumeration } => self.enumerator(enumeration, path.name),
            Entity::Function => self.function(path, named),
            Entity::ValueParameter => self.constant_member(named.die).map(Some),
            Entity::Variable => {
                let variable = self.scope.file_variable(named.die, path.name);
                match variable.map_err(self.fault())? {
                    Some(variable) => self.variable(&variable).map(Some),
                    None => self.constant_member(named.die).map(Some),
                }
            }
            Entity::Type(_) | Entity::TypeParameter => {
                Err(self.error(QueryErrorKind::Unsupported(TYPE_WITHOUT_VALUE)))
            }
            Entity::Member => Ok(None),
        }
    }

    /// Returns the variable of a function around the frame's, such as the function of a lambda, if no other entity is nearer.
    ///
    /// * `other`: the other entity that the path names.
    fn variable_around(&mut self, path: &Path<'_>, other: &Found) -> Checked<Option<StepId>> {
        let frame = self.scope.name_scopes();
        let around = self.outer.named(path.name, frame, self.names);
        let around = around.map_err(self.fault())?;
        let level = level_of(other);
        let is_it = |variable: &&OuterVariable<'_>| {
            let is_nearer = level.is_none_or(|level| variable.level <= level);
            is_nearer && start_of(path, &variable.function).is_some()
        };
        let mut found = around.iter().filter(is_it);
        let Some(first) = found.next() else {
            return Ok(None);
        };
        // clang writes the enumerators of blocks as if the function declared them.
        if !first.is_visible || level == Some(first.level) {
            let mut candidates: Vec<String> = [first]
                .into_iter()
                .chain(found)
                .map(|one| one.label(path))
                .collect();
            match other {
                _ if level.is_none() => {}
                Found::Ambiguous(names, _) => candidates.extend(names.iter().cloned()),
                Found::Entity(..) | Found::Hidden(_) => {
                    candidates.extend(self.names.described(other, path))
                }
            }
            candidates.truncate(MOST_NAMES);
            if candidates.len() > 1 {
                return Err(self.error(ambiguous(path, candidates)));
            }
        }
        // The type is known without a value.
        if first.is_readable || !self.unevaluated.is_empty() {
            return self.variable(&first.variable).map(Some);
        }
        let info = self.scope.tree.frame.stop().program().info();
        let is_it = |variable: &Variable<'_>| info.is_instance_of(variable.die, first.variable.die);
        Err(match self.scope.other_frame(path, is_it) {
            None => self.error(QueryErrorKind::Unsupported(OF_FUNCTION_AROUND)),
            frame => self.error(QueryErrorKind::UnknownName {
                name: path.to_string(),
                nearest: Vec::new(),
                frame,
            }),
        })
    }

    fn variable(&mut self, variable: &Arc<Variable<'a>>) -> Checked<StepId> {
        let Some(value) = self.scope.value(variable, &mut self.types.table) else {
            return Err(self.error(QueryErrorKind::NoDebugInfo));
        };
        let ty = value.ty;
        Ok(self.object(Action::Variable(value), ty, None))
    }

    pub(super) fn constant_member(&mut self, entry: DieId) -> Checked<StepId> {
        let stop = self.scope.tree.frame.stop();
        let constant = stop.program().info().constant_member(entry, stop.meter());
        let constant = constant.map_err(self.fault())?;
        self.variable(&Arc::new(constant))
    }

    /// Returns the static data member that a path names, in the class before its name. The class can be a typedef or a parameter of a template.
    fn constant_of_class(&mut self, path: &Path<'_>) -> Checked<Option<DieId>> {
        let frame = self.scope.name_scopes();
        let mut scopes = path.scopes.clone();
        let Some(name) = scopes.pop() else {
            return Ok(None);
        };
        let class = Path {
            is_absolute: path.is_absolute,
            scopes,
            name,
        };
        let is_type = |named: &Named| named.entity.is_type();
        let found = (self.names).find(&class, frame, Reach::Program, &is_type);
        let class = match found.map_err(self.fault())? {
            Found::Entity(class, _) => self.names.type_entry(&class),
            Found::Hidden(_) => None,
            Found::Ambiguous(candidates, _) => {
                return Err(self.error(ambiguous(class, candidates)));
            }
        };
        let stop = self.scope.tree.frame.stop();
        let info = stop.program().info();
        let Some(class) = class else {
            return Ok(None);
        };
        let ty = info.read_type(&mut self.types.table, Some(class), stop.meter());
        let ty = ty.map_err(self.fault())?;
        match self.find_member(ty, path.name, &mut Nearest::to(path.name))? {
            FoundMember::Constant(entry) => Ok(Some(entry)),
            FoundMember::None | FoundMember::Member(..) => Ok(None),
            FoundMember::Several(records) => Err(self.ambiguous_member(path.name, &records)),
            FoundMember::Unknown => Err(self.too_many_classes(path.name, ty)),
        }
    }

    fn unknown_name(&mut self, path: &Path<'_>) -> QueryError {
        let is_type = |named: &Named| named.entity.is_type();
        let frame = self.scope.name_scopes();
        let found = (self.names).find(path, frame, Reach::Program, &is_type);
        if found.is_ok_and(|found| found.is_known()) {
            return self.error(QueryErrorKind::Unsupported(TYPE_WITHOUT_VALUE));
        }
        if !self.scope.is_described() {
            return self.error(QueryErrorKind::NoDebugInfo);
        }
        let mut nearest = Nearest::to(path.name);
        self.scope.propose(&mut nearest);
        // The operand of `sizeof` may also be a misspelled type.
        let is_size = !self.unevaluated.is_empty();
        self.names
            .propose(&mut nearest, &|named| is_size || !is_type(named));
        if BUILT_IN.contains(&path.name) {
            return self.error(QueryErrorKind::Unsupported(
                "the code has no variable for it; `$_lane` is the number of the lane, and `vars` shows its work-item",
            ));
        }
        let kind = QueryErrorKind::UnknownName {
            name: path.to_string(),
            nearest: nearest.names(),
            frame: self.scope.other_frame(path, |_| true),
        };
        self.error(kind)
    }

    /// Returns a constant that languages have as a keyword.
    fn keyword(&mut self, path: &Path<'_>) -> Option<StepId> {
        if path.is_absolute || !path.scopes.is_empty() {
            return None;
        }
        let bool = IntegerType {
            rank: Rank::Bool,
            bits: 8,
            signed: false,
        };
        match path.name {
            "true" => Some(self.constant(1, bool)),
            "false" => Some(self.constant(0, bool)),
            // The type is the type of 0, which is the null pointer of every address space.
            "nullptr" | "NULL" => Some(self.constant(0, INT)),
            _ => None,
        }
    }

    fn enumerator(&mut self, enumeration: DieId, name: &str) -> Checked<Option<StepId>> {
        let info = self.scope.tree.frame.stop().program().info();
        let ty = info.read_type(
            &mut self.types.table,
            Some(enumeration),
            self.scope.tree.frame.stop().meter(),
        );
        let ty = ty.map_err(self.fault())?;
        let TypeKind::Enumeration { enumerators, .. } = &self.types.table.get(ty).kind else {
            return Ok(None);
        };
        let value = enumerators
            .iter()
            .find(|enumerator| enumerator.name == name);
        let value = value.map(|enumerator| enumerator.value);
        Ok(value.map(|value| self.value(Calculation::Constant(Number::Integer(value)), ty)))
    }

    /// Returns the address of a function, if it has code.
    ///
    /// * `named`: a declaration or definition that the path names.
    fn function(&mut self, path: &Path<'_>, named: &Named) -> Checked<Option<StepId>> {
        let entry = named.die;
        let stop = self.scope.tree.frame.stop();
        let info = stop.program().info();
        let qualifier = info.completed_qualifier(entry);
        let others = info.unit_ids();
        let others = others.filter(|unit| *unit != entry.unit && !named.is_static);
        for unit in core::iter::once(entry.unit).chain(others) {
            let is_there = self.names.has(unit, path).map_err(self.fault())?;
            if !is_there {
                continue;
            }
            let functions = info.functions(unit).map_err(self.fault())?;
            // Instances of templates can have the same name. Otherwise the definition of a declaration has only its scope in common with it. clang
            // gives the body of an OpenCL kernel the name of the kernel, and another linkage name.
            let named = || {
                let all = functions.iter();
                all.filter(|function| function.name.as_deref() == Some(path.name))
            };
            let in_scope = || named().filter(|function| function.qualifier == qualifier);
            let found = in_scope().find(|function| function.linkage_name.is_none());
            let found = found
                .or_else(|| named().find(|function| info.is_instance_of(function.die, entry)))
                .or_else(|| in_scope().next());
            let address = found.and_then(|function| function.ranges.first());
            if let (Some(function), Some(range)) = (found, address) {
                let fault = self.fault();
                let table = &mut self.types.table;
                let ty = info
                    .read_type(
                        table,
                        Some(function.die),
                        self.scope.tree.frame.stop().meter(),
                    )
                    .map_err(&fault)?;
                // The result type may be in the declaration that the entry completes.
                let result = info
                    .read_type(table, function.result, self.scope.tree.frame.stop().meter())
                    .map_err(&fault)?;
                self.types.returning(ty, result);
                let load_address = stop.options().load_address;
                let address = load_address.to_process(CodeAddress(range.start));
                let address = Number::Integer(address.0.into());
                return Ok(Some(self.value(Calculation::Constant(address), ty)));
            }
        }
        Ok(None)
    }

    /// Returns the member of the function's class that a path names.
    fn member_of_this(&mut self, path: &Path<'_>) -> Checked<Option<StepId>> {
        let Some(variable) = self.scope.local(&Path::of("this")) else {
            return Ok(None);
        };
        let Some(value) = self.scope.value(&variable, &mut self.types.table) else {
            return Ok(None);
        };
        let Some(pointer) = self.types.class(value.ty).pointer() else {
            return Ok(None);
        };
        if path.is_absolute && path.scopes.is_empty() {
            return Ok(None);
        }
        let class = pointer.target;
        let is_own = self.has_member(class, path)?;
        // A lambda keeps the object of the function around it as a member. clang and gcc differ in its name.
        let mut captured = None;
        for name in ["this", "__this"] {
            if captured.is_none() && self.has_member(class, &Path::of(name))? {
                captured = Some(name);
            }
        }
        if !is_own && captured.is_none() {
            return Ok(None);
        }
        let this = self.object(Action::Variable(value.clone()), value.ty, None);
        let object = self.object(Action::Dereference(this), class, None);
        let Some(captured) = captured.filter(|_| !is_own) else {
            return self.member(object, path.name).map(Some);
        };
        // A copy of the object is a member itself.
        let mut outer = self.member(object, captured)?;
        let mut class = self.ty(outer);
        if let Some(pointer) = self.types.class(class).pointer() {
            class = pointer.target;
            outer = self.object(Action::Dereference(outer), class, None);
        }
        match self.has_member(class, path)? {
            true => self.member(outer, path.name).map(Some),
            false => Ok(None),
        }
    }

    /// Returns true if a class has the member that a path names. In `T::member`, `T` may be the name of this class.
    fn has_member(&self, class: TypeId, path: &Path<'_>) -> Checked<bool> {
        let name = self.types.name(class);
        let is_own =
            path.scopes.is_empty() || start_of(path, name.trim_start_matches("const ")).is_some();
        if !is_own {
            return Ok(false);
        }
        let found = self.find_member(class, path.name, &mut Nearest::to(path.name))?;
        Ok(match found {
            // The error follows when the member is read.
            FoundMember::Member(..) | FoundMember::Several(_) | FoundMember::Unknown => true,
            FoundMember::None | FoundMember::Constant(_) => false,
        })
    }

    /// Returns consecutive registers with their names in assembly language, such as `v[42:43]`. Two are an integer of 64 bits, and more are an array
    /// of dwords.
    ///
    /// * `range`: the text after the opening bracket.
    fn registers(&mut self, name: &str, prefix: &str, range: &str) -> Checked<StepId> {
        let frame = self.scope.tree.frame;
        let processor = frame.stop().program().processor();
        let parse = |text: &str| text.parse::<u16>().ok();
        let numbers = range
            .strip_suffix(']')
            .and_then(|range| range.split_once(':'))
            .and_then(|(first, last)| Some(parse(first)?..=parse(last)?))
            .filter(|numbers| !numbers.is_empty());
        let registers = numbers.and_then(|numbers| {
            let registers = numbers.map(|number| {
                let name = format!("{prefix}{number}");
                let register = Register::from_name(&name, Some(frame.wave_size()));
                let register = register.filter(|register| register.available_on(processor));
                match (register, UnnumberedRegister::from_name(&name)) {
                    (Some(register), _) => Some(AnyRegister::Numbered(register)),
                    (None, register) => register.map(AnyRegister::Unnumbered),
                }
            });
            registers.collect::<Option<Rc<[AnyRegister]>>>()
        });
        // Names like `exec` take no numbers, and names like `sgpr` do not exist in assembly language.
        let is_class = matches!(prefix, "s" | "v" | "a" | "ttmp");
        let Some(registers) = registers.filter(|_| is_class) else {
            let name = name.to_owned();
            return Err(self.error(QueryErrorKind::UnknownRegister { name }));
        };
        let bits = if registers.len() == 2 { 64 } else { 32 };
        let element = self.types.integer(unsigned(bits));
        let ty = match registers.len() {
            1 | 2 => element,
            count => self.types.array(element, Some(count as u64)),
        };
        Ok(self.object(Action::Registers(registers), ty, None))
    }

    /// Returns half of a mask in a wave of 64 lanes, by its name in instructions.
    fn half_of_mask(&mut self, name: &str) -> Option<StepId> {
        if self.scope.tree.frame.wave_size() == WaveSize::Wave32 {
            return None;
        }
        let (whole, half) = name.rsplit_once('_')?;
        let is_mask = matches!(whole, "exec" | "vcc");
        let shift = match half {
            "lo" if is_mask => 0,
            "hi" if is_mask => 32,
            _ => return None,
        };
        let mask = self.register(whole).ok()?;
        let count = self.constant(shift, INT);
        let (long, int) = (unsigned(64), unsigned(32));
        let ty = self.types.integer(long);
        let shifted = self.value(
            Calculation::Shift {
                operator: Binary::ShiftRight,
                left: mask,
                right: count,
                ty: long,
            },
            ty,
        );
        let ty = self.types.integer(int);
        Some(self.value(Calculation::Cast(shifted), ty))
    }

    pub(super) fn register(&mut self, name: &str) -> Checked<StepId> {
        let frame = self.scope.tree.frame;
        let processor = frame.stop().program().processor();
        let unknown = || QueryErrorKind::UnknownRegister {
            name: name.to_owned(),
        };
        let stack = match name {
            "sp" => Some(32),
            "fp" => Some(33),
            "pc" => {
                let void = self.types.void();
                let ty = self.types.pointer(void, AddressSpace::None);
                let pc = Number::Integer(frame.call_frame().pc().0.into());
                return Ok(self.value(Calculation::Constant(pc), ty));
            }
            "_lane" => {
                let ty = self.types.integer(INT);
                return Ok(self.value(Calculation::Lane, ty));
            }
            _ => None,
        };
        if let Some(register) = stack.and_then(Register::sgpr) {
            let void = self.types.void();
            let ty = self.types.pointer(void, AddressSpace::PrivateLane);
            // If scratch is accessed through buffers, the registers count the bytes of all lanes.
            let lanes = frame.wave_size().lanes();
            let shift = match processor.scratch_addressing() {
                Some(ScratchAddressing::Buffer) => lanes.trailing_zeros(),
                Some(ScratchAddressing::Flat) | None => 0,
            };
            return Ok(self.value(Calculation::Register { register, shift }, ty));
        }
        if let Some(register) = UnnumberedRegister::from_name(name) {
            let ty = self.types.integer(unsigned(register.size_in_bits()));
            return Ok(self.value(Calculation::Unnumbered(register), ty));
        }
        if let Some((prefix, range)) = name.split_once('[') {
            return self.registers(name, prefix, range);
        }
        if let Some(half) = self.half_of_mask(name) {
            return Ok(half);
        }
        // Register numbers of DWARF are also names, but `$1` is a value of gdb's history.
        let is_number = name.starts_with(|c: char| c.is_ascii_digit()) || name.is_empty();
        let register = Register::from_name(name, Some(frame.wave_size()));
        let register = register.filter(|register| !is_number && register.available_on(processor));
        let register = register.ok_or_else(|| self.error(unknown()))?;
        let size = if register.is_vector() {
            Some(32)
        } else {
            register.size_in_bits()
        };
        let Some(bits @ (32 | 64)) = size else {
            return Err(self.error(unknown()));
        };
        let ty = self.types.integer(unsigned(bits));
        let action = match register.class() {
            Some(RegisterClass::Exec) => Calculation::Exec,
            Some(_) | None => Calculation::Register { register, shift: 0 },
        };
        Ok(self.value(action, ty))
    }
}

/// Returns the scope around the frame's code in which an entity was found, counted from the innermost.
fn level_of(found: &Found) -> Option<usize> {
    let (level, _) = found.rank()?.distance.level()?;
    Some(level)
}

/// Returns an unsigned integer type with the size of a register.
fn unsigned(bits: u32) -> IntegerType {
    IntegerType {
        rank: if bits > 32 { Rank::Long } else { Rank::Int },
        bits,
        signed: false,
    }
}
