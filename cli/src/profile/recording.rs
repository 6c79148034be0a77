//! Holds the contents of profilers' files: the samples, counted by position, and the tables that they refer to.
//!
//! A table may come after the samples that refer to it. So positions refer to code objects and kernels by numbers, which are assigned at
//! the first mention. The facts in the tables are filled in later.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;

use hetdwarf::error::Error;
use hetdwarf::meter::Meter;
use hetdwarf::profile::{Activity, DispatchShape, Sample, Samples, Site, Started};

/// The index of a process in a recording.
pub(super) type Scope = u32;

/// A code object, as its process lists it.
#[derive(Debug, Default)]
pub(super) struct ListedObject {
    pub(super) scope: Scope,
    pub(super) id: u64,
    /// True if a table of the file lists it.
    pub(super) is_listed: bool,
    pub(super) uri: String,
    pub(super) load_base: Option<u64>,
    pub(super) load_size: Option<u64>,
    pub(super) load_delta: Option<u64>,
    /// The agent that it is loaded on.
    pub(super) agent: Option<u64>,
    /// True if addresses are already virtual addresses of the ELF file.
    pub(super) is_linked: bool,
}

/// A process.
#[derive(Debug, Default)]
pub(super) struct Process {
    /// The file.
    pub(super) file: PathBuf,
    pub(super) pid: Option<u64>,
    /// The names of agents by handle, and the minimum number of lanes of their waves.
    pub(super) agents: BTreeMap<u64, (String, Option<u64>)>,
    /// The texts of instructions, and their comments, both by number.
    pub(super) instructions: Vec<String>,
    pub(super) comments: Vec<String>,
}

/// A dispatch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dispatch {
    pub(super) shape: Option<DispatchShape>,
    pub(super) kernel: Option<u32>,
}

/// A sample as it is in the file.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RawSample {
    pub(super) code_object: Option<u64>,
    pub(super) offset: Option<u64>,
    pub(super) exec: Option<u64>,
    pub(super) dispatch: Option<u64>,
    pub(super) workgroup: [Option<u64>; 3],
    pub(super) wave: Option<u64>,
    pub(super) issued: Option<u64>,
    pub(super) kind: Option<hetdwarf::profile::NameId>,
    pub(super) stall: Option<hetdwarf::profile::NameId>,
    pub(super) text: Option<u64>,
}

/// The contents of profilers' files.
#[derive(Debug, Default)]
pub(super) struct Recording {
    pub(super) samples: Samples,
    pub(super) processes: Vec<Process>,
    pub(super) objects: Vec<ListedObject>,
    objects_by_id: HashMap<(Scope, u64), u32>,
    /// The names of kernels.
    pub(super) kernels: Vec<Option<String>>,
    kernels_by_id: HashMap<(Scope, u64), u32>,
    dispatches: HashMap<(Scope, u64), Dispatch>,
    /// The last dispatch that was looked up. Consecutive samples are mostly of the same dispatch.
    last_dispatch: Option<((Scope, u64), Option<Dispatch>)>,
    /// True if a dispatch was read after samples that refer to it.
    pub(super) is_late: bool,
    /// The texts of instructions without an address: the instruction, and its comment.
    pub(super) texts: Vec<[String; 2]>,
    texts_by_name: HashMap<[String; 2], u32>,
    /// The numbers of discarded samples by reason.
    pub(super) discarded: BTreeMap<&'static str, u64>,
    /// The names of unknown fields.
    pub(super) unknown: BTreeSet<String>,
    /// The notes on the files.
    pub(super) notes: BTreeSet<String>,
    /// The problems with the files.
    pub(super) problems: Vec<String>,
    /// True if samples are executions in a thread trace.
    pub(super) is_trace: bool,
    /// True if there are samples of a profiler.
    pub(super) is_sampled: bool,
    /// The limit that was reached, if any.
    pub(super) limit: Option<Error>,
}

/// The prefixes of names, which are removed.
pub(super) const INSTRUCTION_TYPE: &str = "ROCPROFILER_PC_SAMPLING_INSTRUCTION_TYPE_";
pub(super) const STALL_REASON: &str = "ROCPROFILER_PC_SAMPLING_INSTRUCTION_NOT_ISSUED_REASON_";

/// The most names of fields that are kept.
const MOST_UNKNOWN: usize = 32;
/// The longest name that is kept.
const LONGEST: usize = 64;

impl Recording {
    /// Begins a process.
    pub(super) fn begin(&mut self, file: PathBuf) -> Scope {
        let scope = u32::try_from(self.processes.len()).unwrap_or(u32::MAX);
        self.processes.push(Process {
            file,
            ..Process::default()
        });
        scope
    }

    pub(super) fn process(&mut self, scope: Scope) -> Option<&mut Process> {
        self.processes.get_mut(usize::try_from(scope).ok()?)
    }

    /// Notes an unknown field.
    pub(super) fn note_unknown(&mut self, name: &[u8]) {
        let name = &*String::from_utf8_lossy(name);
        let is_new = !self.unknown.contains(name);
        if is_new && self.unknown.len() < MOST_UNKNOWN && name.len() <= LONGEST {
            self.unknown.insert(name.to_owned());
        }
    }

    /// Discards a sample.
    pub(super) fn discard(&mut self, reason: &'static str) {
        let count = self.discarded.entry(reason).or_default();
        *count += 1;
    }

    /// Returns the number of a code object.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(super) fn object(&mut self, scope: Scope, id: u64, meter: &Meter) -> Result<u32, Error> {
        if let Some(number) = self.objects_by_id.get(&(scope, id)) {
            return Ok(*number);
        }
        meter.hold(4 * size_of::<ListedObject>() as u64)?;
        let number = u32::try_from(self.objects.len()).unwrap_or(u32::MAX);
        self.objects.push(ListedObject {
            scope,
            id,
            ..ListedObject::default()
        });
        self.objects_by_id.insert((scope, id), number);
        Ok(number)
    }

    /// Returns the number of a kernel.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(super) fn kernel(&mut self, scope: Scope, id: u64, meter: &Meter) -> Result<u32, Error> {
        if let Some(number) = self.kernels_by_id.get(&(scope, id)) {
            return Ok(*number);
        }
        meter.hold(4 * size_of::<Option<String>>() as u64)?;
        let number = u32::try_from(self.kernels.len()).unwrap_or(u32::MAX);
        self.kernels.push(None);
        self.kernels_by_id.insert((scope, id), number);
        Ok(number)
    }

    /// Adds a dispatch.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(super) fn add_dispatch(
        &mut self,
        scope: Scope,
        id: u64,
        dispatch: Dispatch,
        meter: &Meter,
    ) -> Result<(), Error> {
        meter.work(1)?;
        meter.hold(2 * size_of::<((Scope, u64), Dispatch)>() as u64)?;
        self.is_late |= !self.samples.places().is_empty();
        self.dispatches.insert((scope, id), dispatch);
        Ok(())
    }

    fn dispatch(&mut self, scope: Scope, id: u64) -> Option<Dispatch> {
        if let Some((key, known)) = self.last_dispatch
            && key == (scope, id)
        {
            return known;
        }
        let found = self.dispatches.get(&(scope, id)).copied();
        self.last_dispatch = Some(((scope, id), found));
        found
    }

    /// Returns the number of a text.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(super) fn text(&mut self, text: [String; 2], meter: &Meter) -> Result<u32, Error> {
        if let Some(number) = self.texts_by_name.get(&text) {
            return Ok(*number);
        }
        let bytes = text.iter().map(String::len).sum::<usize>();
        meter.hold(2 * (bytes + size_of::<([String; 2], u32)>()) as u64)?;
        let number = u32::try_from(self.texts.len()).unwrap_or(u32::MAX);
        self.texts.push(text.clone());
        self.texts_by_name.insert(text, number);
        Ok(number)
    }

    /// Adds a sample.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(super) fn add(
        &mut self,
        scope: Scope,
        raw: &RawSample,
        meter: &Meter,
    ) -> Result<(), Error> {
        let (Some(id), Some(address)) = (raw.code_object, raw.offset) else {
            self.discard("its code object or address is not a number");
            return Ok(());
        };
        if raw.exec.is_none() {
            self.discard("its EXEC mask is not a number");
            return Ok(());
        }
        let dispatch = raw.dispatch.and_then(|id| self.dispatch(scope, id));
        let object = self.object(scope, id, meter)?;
        let site = Site::Code {
            object,
            kernel: dispatch.and_then(|dispatch| dispatch.kernel),
            address,
        };
        let started = || {
            let shape = dispatch?.shape?;
            let [x, y, z] = raw.workgroup;
            Some(shape.started([x?, y?, z?], raw.wave?))
        };
        let mut sample = Sample::new(site);
        sample.exec = raw.exec;
        sample.started = started().unwrap_or(Started::UNKNOWN);
        sample.activity = match raw.issued {
            None => Activity::Unknown,
            Some(0) => Activity::Stalled(raw.stall),
            Some(_) => Activity::Issued(raw.kind),
        };
        sample.text = raw.text.and_then(|text| u32::try_from(text).ok());
        self.is_sampled = true;
        self.samples.add(&sample, meter)
    }
}
