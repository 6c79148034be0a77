//! Shows registers as scopes: scalar registers, and vector registers with their lanes as children.

use hetdwarf::arch::{Processor, Register, RegisterClass, WaveSize};
use hetdwarf::inspect::StopFrame;
use hetdwarf::report::RegistersDocument;
use hetdwarf::wave::Wave;

use super::handle::{FrameId, Handle, Root};
use super::protocol::Variable;
use super::session::Session;

/// The number of lanes whose values are shown in the line of a vector register.
const MOST_LANES: usize = 4;

/// The registers of a frame, or of a wave whose code object is unknown.
pub(super) enum Registers<'r, 's, 'p, 'a> {
    Frame(&'r StopFrame<'s, 'p, 'a>),
    Wave(&'r dyn Wave),
}

impl Registers<'_, '_, '_, '_> {
    fn wave_size(&self) -> WaveSize {
        match self {
            Registers::Frame(frame) => frame.wave_size(),
            Registers::Wave(wave) => wave.wave_size(),
        }
    }

    fn processor(&self) -> Option<&'static Processor> {
        match self {
            Registers::Frame(frame) => Some(frame.stop().program().processor()),
            Registers::Wave(_) => None,
        }
    }

    /// Returns the bytes of a register, or None unless all of them are known.
    fn read(&self, register: Register) -> Option<Vec<u8>> {
        match self {
            Registers::Frame(frame) => {
                let bits = frame.read_register(register, None).ok()?;
                bits.is_complete().then_some(bits.bytes)
            }
            Registers::Wave(wave) => {
                let bits = register.size_in_bits()?;
                let mut bytes = vec![0; usize::try_from(bits / 8).ok()?];
                wave.read_register(register, 0..bits, &mut bytes).ok()?;
                Some(bytes)
            }
        }
    }

    /// Lists all registers of a class, known or not.
    fn of_class(&self, is_vector: bool) -> Vec<Register> {
        let size = self.wave_size();
        let document = RegistersDocument::new(0, u16::MAX, Some(size), self.processor(), false);
        let rows = document.registers.iter();
        let of_size = rows.filter(|row| row.wave_size.is_none_or(|of| of == size.lanes()));
        let numbers = of_size.flat_map(|row| row.first..=row.last);
        let registers = numbers.map(Register).filter(|register| {
            let is_lanes = matches!(
                register.class(),
                Some(RegisterClass::Vgpr | RegisterClass::Agpr)
            );
            is_lanes == is_vector
        });
        registers.collect()
    }

    /// Returns the names of the registers that have a value.
    pub(super) fn names(&self) -> Vec<String> {
        let classes = [false, true].map(|is_vector| self.of_class(is_vector));
        let all = classes.into_iter().flatten();
        let known = all.filter(|register| self.read(*register).is_some());
        known.map(|register| register.to_string()).collect()
    }

    /// Lists the lanes of a vector register.
    ///
    /// # Errors
    /// If the value of the register is unknown.
    pub(super) fn lanes(
        &self,
        number: u16,
        (start, count): (usize, usize),
    ) -> Result<Vec<Variable>, String> {
        let register = Register(number);
        let bytes = self.read(register);
        let bytes = bytes.ok_or_else(|| format!("the value of {register} is unknown"))?;
        let lanes = dwords(&bytes).into_iter().enumerate();
        let listed = lanes.skip(start).take(count).map(|(lane, dword)| Variable {
            name: format!("lane {lane}"),
            value: format!("{dword:#x}"),
            ..Variable::default()
        });
        Ok(listed.collect())
    }
}

impl Session<'_> {
    /// Lists the registers of a class whose values are known.
    pub(super) fn registers(
        &mut self,
        registers: &Registers<'_, '_, '_, '_>,
        id: FrameId,
        is_vector: bool,
        (start, count): (usize, usize),
    ) -> Result<Vec<Variable>, String> {
        let focus = self.focus.get(&id.wave).copied();
        let known = registers.of_class(is_vector).into_iter();
        let known = known.filter_map(|register| Some((register, registers.read(register)?)));
        let mut listed = Vec::new();
        for (register, bytes) in known.skip(start).take(count) {
            let name = register.to_string();
            let mut one = Variable {
                evaluate_name: Some(format!("${name}")),
                name,
                ..Variable::default()
            };
            let lanes = dwords(&bytes);
            let in_focus = focus.and_then(|lane| lanes.get(usize::from(lane.0)));
            match (is_vector, in_focus) {
                (false, _) => one.value = hexadecimal(&bytes),
                (true, Some(dword)) => one.value = format!("{dword:#x}"),
                (true, None) => {
                    one.value = of_lanes(&lanes);
                    let root = Root::Register(register.0);
                    one.variables_reference = self.handles.number(Handle::Lanes(id, root))?;
                    one.indexed_variables = Some(lanes.len() as u64);
                }
            }
            listed.push(one);
        }
        Ok(listed)
    }
}

fn dwords(bytes: &[u8]) -> Vec<u32> {
    let dwords = bytes.chunks_exact(4);
    dwords
        .map(|dword| u32::from_le_bytes(dword.try_into().unwrap_or_default()))
        .collect()
}

/// Returns the text that summarizes the values of a vector register.
fn of_lanes(lanes: &[u32]) -> String {
    match lanes {
        [first, rest @ ..] if rest.iter().all(|one| one == first) => format!("{first:#x}"),
        _ => {
            let shown = lanes.iter().take(MOST_LANES);
            let mut texts: Vec<String> = shown.map(|one| format!("{one:#x}")).collect();
            texts.push("…".to_owned());
            texts.join(", ")
        }
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    let mut number = [0; 16];
    for (to, from) in number.iter_mut().zip(bytes) {
        *to = *from;
    }
    format!("{:#x}", u128::from_le_bytes(number))
}
