//! A toy back end: compiles a structured program into linear code with EXEC masks, and describes its regions.
//!
//! Lanes that leave are removed from the masks of all regions that they leave. Alternatively, a region is described by its mask
//! [without](MaskPlace::without) the lanes that left.

use core::ops::Range;

use hetdwarf::arch::WaveSize;
use hetdwarf::lane_pc::{self, MaskPlace, Region, WholeWave};

use super::lane::{Placed, Target};
use super::machine::{Instruction, SIZE, Scalar, all};
use super::masks::{Code, MaskId, TEMPORARY, labels};
use super::random::Random;
use super::source::{Condition, Source, Statement, Trips, any_leaf};

/// A function in machine code.
#[derive(Debug)]
pub struct Compiled {
    /// The instructions.
    pub instructions: Vec<Instruction>,
    /// The addresses of the labels.
    pub labels: Vec<u64>,
    /// The statements with their addresses, for lanes that run alone.
    pub body: Vec<Placed>,
    /// The last instruction.
    pub end: u64,
    /// An address at which the active lanes are known without an instruction that sets them, and these lanes.
    pub known: Option<(u64, u64)>,
    /// The description of the regions.
    pub function: lane_pc::Function,
}

/// A region whose code is being generated.
#[derive(Clone, Copy, Debug)]
struct Scope {
    kind: Kind,
    /// The mask of lanes that entered.
    entered: MaskId,
    /// The mask of lanes that left. `None` if they are removed from `entered`.
    gone: Option<MaskId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Body,
    If,
    Loop,
    Iteration,
}

struct BackEnd {
    code: Code,
    scopes: Vec<Scope>,
    /// The mask of lanes that left the regions generated here.
    gone: Option<MaskId>,
    whole_wave: Vec<WholeWave>,
    known: Option<(u64, u64)>,
}

/// The code of a part of a program.
#[derive(Default)]
struct Made {
    placed: Vec<Placed>,
    regions: Vec<Region>,
}

/// Compiles a program for a wave size.
#[must_use]
pub fn compile(source: &Source, wave_size: WaveSize) -> Compiled {
    let random = Random::new(source.choices ^ u64::from(wave_size.lanes()));
    let mut back_end = BackEnd {
        code: Code::new(wave_size, random),
        scopes: Vec::new(),
        gone: None,
        whole_wave: Vec::new(),
        known: None,
    };
    let made = back_end.function(source);
    let code = back_end.code;
    let end = code.here();
    Compiled {
        end: end - SIZE,
        instructions: code.instructions,
        labels: code.labels,
        body: made.placed,
        known: back_end.known,
        function: lane_pc::Function {
            code: labels(0..end),
            wave_size,
            regions: made.regions,
            whole_wave: back_end.whole_wave,
        },
    }
}

impl BackEnd {
    fn function(&mut self, source: &Source) -> Made {
        let returns = any_leaf(&source.body, 0, &|leaf, _| *leaf == Statement::Return);
        if !returns && self.code.random.percent(70) {
            let made = self.block(&source.body);
            self.code.emit(Instruction::End);
            return made;
        }
        self.code.emit(Instruction::Work);
        let gone = self.start_of_body(&source.body);
        let mask = source.entry & all(self.code.wave_size);
        // Kernels of full work-groups know their lanes, and never start without any.
        let entered = if mask != 0 && self.code.random.percent(20) {
            self.known = Some((self.code.here(), mask));
            self.code.constant(mask)
        } else {
            self.code.save(Scalar::Exec)
        };
        let start = self.code.here();
        self.enter(Kind::Body, entered, None);
        let mut inner = self.block(&source.body);
        let tail = self.code.here();
        self.restore(self.scopes[0]);
        let exit = self.code.here();
        self.scopes.pop();
        self.end_of_body(gone);
        let mask = self.mask(entered, None, start..exit);
        inner.placed.insert(0, Placed::Straight(0..start));
        inner.placed.push(Placed::Straight(tail..exit));
        self.code.emit(Instruction::End);
        Made {
            placed: inner.placed,
            regions: vec![Region::new(
                mask,
                Region::body(
                    labels(start..exit),
                    exit.into(),
                    MaskPlace::Exec,
                    inner.regions,
                )
                .phases()
                .to_vec(),
            )],
        }
    }

    fn block(&mut self, block: &[Statement]) -> Made {
        let mut made = Made::default();
        for statement in block {
            let start = self.code.here();
            self.code.shuffle();
            if start != self.code.here() {
                made.placed.push(Placed::Straight(start..self.code.here()));
            }
            self.statement(statement, &mut made);
        }
        made
    }

    fn statement(&mut self, statement: &Statement, made: &mut Made) {
        let start = self.code.here();
        match statement {
            Statement::Work(count) => {
                for _ in 0..*count {
                    self.code.emit(Instruction::Work);
                }
                made.placed.push(Placed::Straight(start..self.code.here()));
            }
            Statement::WholeWave { quads, work } => {
                self.whole_wave(*quads, *work);
                made.placed.push(Placed::Straight(start..self.code.here()));
            }
            Statement::If {
                condition,
                then,
                otherwise,
            } => self.decision(*condition, then, otherwise.as_deref(), made),
            Statement::Loop {
                trips,
                tested_first,
                body,
            } => self.repeat(*trips, *tested_first, body, made),
            Statement::Break(levels) => self.leave(Kind::Loop, *levels, made),
            Statement::Continue(levels) => self.leave(Kind::Iteration, *levels, made),
            Statement::Return => self.leave(Kind::Body, 0, made),
        }
    }

    fn decision(
        &mut self,
        condition: Condition,
        then: &[Statement],
        otherwise: Option<&[Statement]>,
        made: &mut Made,
    ) {
        let first = self.code.here();
        let saved_first = self.code.random.percent(50);
        let saved = saved_first.then(|| self.code.save(Scalar::Exec));
        self.code.emit(Instruction::Compare(condition));
        let entered = saved.unwrap_or_else(|| self.code.save(Scalar::Exec));
        // The lanes of `else` are saved, or computed from the remaining lanes.
        let others = (otherwise.is_some() && self.code.random.percent(50)).then(|| {
            let [temporary, _] = TEMPORARY;
            self.code
                .emit(Instruction::AndNot(temporary, Scalar::Exec, Scalar::Vcc));
            self.code.save(temporary)
        });
        let start = self.code.here();
        made.placed.push(Placed::Straight(first..start));
        self.code
            .emit(Instruction::And(Scalar::Exec, Scalar::Exec, Scalar::Vcc));
        let then_start = self.code.here();
        let scope = self.enter(Kind::If, entered, self.gone);
        let mut inner = self.side(then);
        let Some(otherwise) = otherwise else {
            self.finish_side(&mut inner, |back_end| back_end.restore(scope));
            let end = self.code.here();
            self.leave_scope(entered);
            made.placed.push(Placed::If {
                decide: start,
                condition,
                then: inner.placed,
                otherwise: Vec::new(),
            });
            let region = Region::if_then(
                start.into(),
                labels(then_start..end),
                MaskPlace::Exec,
                inner.regions,
            );
            made.regions
                .push(self.with_mask(&region, scope, start..end));
            return;
        };
        self.finish_side(&mut inner, |back_end| back_end.switch(scope, others));
        let else_start = self.code.here();
        let mut second = self.side(otherwise);
        self.finish_side(&mut second, |back_end| back_end.restore(scope));
        let end = self.code.here();
        self.leave_scope(entered);
        made.placed.push(Placed::If {
            decide: start,
            condition,
            then: inner.placed,
            otherwise: second.placed,
        });
        let region = Region::if_then_else(
            start.into(),
            (labels(then_start..else_start), inner.regions),
            (labels(else_start..end), second.regions),
            end.into(),
            MaskPlace::Exec,
        );
        made.regions
            .push(self.with_mask(&region, scope, start..end));
    }

    /// Generates one side of an `if`, with a random branch around it for the case that no lane is active.
    fn side(&mut self, block: &[Statement]) -> Made {
        let start = self.code.here();
        let skip = self.code.random.percent(40).then(|| {
            let skip = self.code.label();
            self.code.emit(Instruction::JumpIfNone(skip));
            self.code.pin();
            skip
        });
        let mut made = self.block(block);
        let begin = Placed::Straight(start..start + if skip.is_some() { SIZE } else { 0 });
        made.placed.insert(0, begin);
        if let Some(skip) = skip {
            let from = self.code.here();
            self.code.reconcile();
            self.code.place(skip);
            made.placed.push(Placed::Straight(from..self.code.here()));
        }
        made
    }

    fn finish_side(&mut self, made: &mut Made, finish: impl FnOnce(&mut BackEnd)) {
        let from = self.code.here();
        finish(self);
        made.placed.push(Placed::Straight(from..self.code.here()));
    }

    /// Switches from `then` to `else`.
    fn switch(&mut self, scope: Scope, others: Option<MaskId>) {
        if let Some(others) = others {
            let [temporary, _] = TEMPORARY;
            let others_now = self.code.load(others, temporary);
            self.code.emit(Instruction::Copy(Scalar::Exec, others_now));
            self.code.release(others);
            return;
        }
        let mask = self.lanes_of(scope);
        self.code
            .emit(Instruction::AndNot(Scalar::Exec, mask, Scalar::Exec));
    }

    /// Loads the mask of the lanes that are in a region.
    fn lanes_of(&mut self, scope: Scope) -> Scalar {
        let [first, second] = TEMPORARY;
        let entered = self.code.load(scope.entered, first);
        let Some(gone) = scope.gone else {
            return entered;
        };
        let gone = self.code.load(gone, second);
        self.code.emit(Instruction::AndNot(first, entered, gone));
        first
    }

    /// Sets EXEC to the remaining lanes of a region.
    fn restore(&mut self, scope: Scope) {
        let mask = self.lanes_of(scope);
        self.code.emit(Instruction::Copy(Scalar::Exec, mask));
    }

    fn repeat(&mut self, trips: Trips, tested_first: bool, block: &[Statement], made: &mut Made) {
        let first = self.code.here();
        let entered = self.code.save(Scalar::Exec);
        self.code.emit(Instruction::Start(trips));
        let (top, out) = (self.code.label(), self.code.label());
        self.code.place(top);
        self.code.pin();
        let start = self.code.here();
        made.placed.push(Placed::Straight(first..start));
        let narrow = [
            Instruction::Again(trips),
            Instruction::And(Scalar::Exec, Scalar::Exec, Scalar::Vcc),
        ];
        let header = tested_first.then(|| {
            narrow.into_iter().for_each(|one| self.code.emit(one));
            let left = self.code.here();
            self.code.emit(Instruction::JumpIfNone(out));
            (start..left, left..self.code.here())
        });
        let scope = self.enter(Kind::Loop, entered, None);
        let outer = self.gone.take();
        let inner = self.iteration(block);
        self.gone = outer;
        let latch = self.code.here();
        let latch = if tested_first {
            self.code.emit(Instruction::Jump(top));
            (latch..latch, latch..self.code.here())
        } else {
            narrow.into_iter().for_each(|one| self.code.emit(one));
            let left = self.code.here();
            self.code.emit(Instruction::JumpIfAny(top));
            (latch..left, left..self.code.here())
        };
        self.code.place(out);
        self.restore(scope);
        let end = self.code.here();
        self.leave_scope(entered);
        made.placed.push(Placed::Loop {
            trips,
            header,
            body: inner.placed,
            latch,
        });
        let region = Region::repeat(
            labels(start..end),
            end.into(),
            MaskPlace::Exec,
            inner.regions,
        );
        made.regions
            .push(self.with_mask(&region, scope, start..end));
    }

    /// Generates a loop's body up to the decision about the next iteration.
    fn iteration(&mut self, block: &[Statement]) -> Made {
        let continues = any_leaf(block, 0, &|leaf, level| *leaf == Statement::Continue(level));
        let first = self.code.here();
        let gone = self.start_of_body(block);
        let entered =
            (continues || self.code.random.percent(20)).then(|| self.code.save(Scalar::Exec));
        let start = self.code.here();
        let scope = entered.map(|entered| self.enter(Kind::Iteration, entered, None));
        let mut made = self.block(block);
        made.placed.insert(0, Placed::Straight(first..start));
        let tail = self.code.here();
        self.code.reconcile();
        if let Some(scope) = scope {
            self.restore(scope);
        }
        let latch = self.code.here();
        made.placed.push(Placed::Straight(tail..latch));
        if let Some(scope) = scope {
            self.code.release(scope.entered);
            self.scopes.pop();
            let region = Region::iteration(
                labels(start..latch),
                latch.into(),
                MaskPlace::Exec,
                core::mem::take(&mut made.regions),
            );
            made.regions = vec![self.with_mask(&region, scope, start..latch)];
        }
        self.end_of_body(gone);
        made
    }

    /// At random, starts a mask of the lanes that leave regions of a body.
    fn start_of_body(&mut self, block: &[Statement]) -> Option<MaskId> {
        let anyone = any_leaf(block, 0, &|leaf, _| {
            matches!(
                leaf,
                Statement::Break(_) | Statement::Continue(_) | Statement::Return
            )
        });
        self.gone =
            (anyone && self.code.random.percent(50)).then(|| self.code.save(Scalar::Number(0)));
        self.gone
    }

    fn end_of_body(&mut self, gone: Option<MaskId>) {
        gone.into_iter().for_each(|gone| self.code.release(gone));
    }

    /// Makes active lanes leave for the end of the function, or for the end or next iteration of a loop this many levels out.
    fn leave(&mut self, kind: Kind, levels: usize, made: &mut Made) {
        let found = self.scopes.iter().enumerate().rev();
        let mut loops = found.filter(|(_, scope)| match kind {
            Kind::Body => scope.kind == Kind::Body,
            Kind::If | Kind::Loop | Kind::Iteration => scope.kind == Kind::Loop,
        });
        // Reduced programs may have fewer loops.
        let Some((target, _)) = loops.nth(levels) else {
            return;
        };
        let (target, to) = match kind {
            Kind::Body => (target, Target::Return),
            Kind::Iteration => (target + 1, Target::Continue(levels)),
            Kind::If | Kind::Loop => (target, Target::Break(levels)),
        };
        let start = self.code.here();
        let left: Vec<Scope> = self.scopes[target + 1..].to_vec();
        let mut known = Vec::new();
        for scope in left.into_iter().rev() {
            match scope.gone {
                Some(gone) if known.contains(&gone) => {}
                Some(gone) => {
                    known.push(gone);
                    self.code
                        .update(gone, |mask| Instruction::Or(mask, mask, Scalar::Exec));
                }
                None => self.code.update(scope.entered, |mask| {
                    Instruction::AndNot(mask, mask, Scalar::Exec)
                }),
            }
        }
        let nobody = Instruction::Copy(Scalar::Exec, Scalar::Number(0));
        self.code.emit(nobody);
        made.placed.push(Placed::Leave(start..self.code.here(), to));
    }

    fn whole_wave(&mut self, quads: bool, work: u8) {
        let active = self.code.save(Scalar::Exec);
        self.code.emit(if quads {
            Instruction::Quads
        } else {
            Instruction::Everyone
        });
        let start = self.code.here();
        for _ in 0..work {
            self.code.emit(Instruction::Work);
        }
        if self.code.random.percent(30) {
            self.code.move_anywhere(active);
        }
        let [temporary, _] = TEMPORARY;
        let mask = self.code.load(active, temporary);
        self.code.emit(Instruction::Copy(Scalar::Exec, mask));
        let end = self.code.here();
        for (range, active) in self.code.places(active, &(start..end)) {
            let code = labels(range);
            self.whole_wave.push(WholeWave { code, active });
        }
        self.code.release(active);
    }

    fn enter(&mut self, kind: Kind, entered: MaskId, gone: Option<MaskId>) -> Scope {
        let scope = Scope {
            kind,
            entered,
            gone,
        };
        self.scopes.push(scope);
        scope
    }

    fn leave_scope(&mut self, entered: MaskId) {
        self.scopes.pop();
        self.code.release(entered);
    }

    /// Returns the region with the storage of its mask.
    fn with_mask(&self, region: &Region, scope: Scope, range: Range<u64>) -> Region {
        let mask = self.mask(scope.entered, scope.gone, range);
        Region::new(mask, region.phases().to_vec())
    }

    fn mask(
        &self,
        entered: MaskId,
        gone: Option<MaskId>,
        range: Range<u64>,
    ) -> Vec<(Range<lane_pc::Label>, MaskPlace)> {
        let mut found = Vec::new();
        for (range, place) in self.code.places(entered, &range) {
            match gone {
                None => found.push((labels(range), place)),
                Some(gone) => {
                    let parts = self.code.places(gone, &range);
                    found.extend(
                        parts
                            .into_iter()
                            .map(|(range, gone)| (labels(range), place.clone().without(gone))),
                    );
                }
            }
        }
        found
    }
}
