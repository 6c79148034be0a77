//! Measures a profiler's samples: counting them, and looking up all their positions and the branches that switched lanes off.

use std::sync::Arc;

use hetdwarf::Limits;
use hetdwarf::inspect::Program;
use hetdwarf::isa::Decoder;
use hetdwarf::meter::Meter;
use hetdwarf::object::{CodeObject, SymbolKind};
use hetdwarf::profile::{Activity, CodeOf, Profile, Sample, Samples, Site, divergence};

use super::{Case, Maker, fixture, keep, maker};

/// The number of samples that are counted.
const SAMPLES: u32 = 10_000;

pub(super) fn makers() -> Vec<Maker> {
    let subject = "sw-gfx1100-O2";
    vec![
        maker(format!("profile/a sample, {subject}"), move || {
            let (samples, meter) = (keep(samples(subject)), meter());
            assert_eq!(counted(samples, &meter).count(), u64::from(SAMPLES));
            let meter = keep(meter);
            Case::repeated(SAMPLES, move || counted(samples, meter).count())
        }),
        maker(
            format!("profile/every place and its branches, {subject}"),
            move || {
                let object = object(subject);
                let places = keep(counted(&samples(subject), &meter()));
                let find = move || {
                    let program = Program::load(object).unwrap();
                    let (meter, mut profile) = (meter(), Profile::default());
                    for place in places.places() {
                        let Site::Code { address, .. } = place.site else {
                            continue;
                        };
                        let code = CodeOf {
                            object: 0,
                            program: &program,
                            address,
                        };
                        let counts = place.counts.clone();
                        profile.add_code(counts, code, None, &meter).unwrap();
                    }
                    divergence(&profile, &meter).0.len()
                };
                assert!(find() > 2);
                Case::new(find)
            },
        ),
    ]
}

fn meter() -> Arc<Meter> {
    Arc::new(Meter::new(&Limits::default(), 1 << 30))
}

fn object(name: &str) -> &'static CodeObject<'static> {
    let file = fixture(&format!("lanes/{name}/{name}.hsaco"));
    keep(CodeObject::parse(file).unwrap())
}

/// Returns samples at all instructions in turn, with different masks.
fn samples(name: &str) -> Vec<Sample> {
    let object = object(name);
    let decoder = Decoder::new(object.target().processor(), None).unwrap();
    let functions = object.symbols().unwrap().iter();
    let functions = functions.filter(|symbol| symbol.kind == SymbolKind::Function);
    let addresses: Vec<u64> = functions
        .flat_map(|symbol| {
            let size = usize::try_from(symbol.size).unwrap();
            let code = object.read_image(symbol.address, size).unwrap();
            let all = decoder.decode_all(code, symbol.address).unwrap();
            all.into_iter().map(|instruction| instruction.address)
        })
        .collect();
    let sample = |(number, address): (u32, &u64)| {
        let site = Site::Code {
            object: 0,
            kernel: None,
            address: *address,
        };
        let mut sample = Sample::new(site);
        sample.exec = Some(u64::from(number.wrapping_mul(0x9e37_79b1)));
        sample.activity = Activity::Stalled(None);
        sample
    };
    (0..SAMPLES)
        .zip(addresses.iter().cycle())
        .map(sample)
        .collect()
}

fn counted(all: &[Sample], meter: &Meter) -> Samples {
    let mut samples = Samples::new();
    for sample in all {
        samples.add(sample, meter).unwrap();
    }
    samples
}
