//! Compares machine code with LLVM's disassembler: over every function of the corpus, and over random words.

#[path = "isa/text.rs"]
mod text;

use std::collections::BTreeMap;
use std::process::Command;

use dwarf_tests::disassembly::{Line, disassemble};
use dwarf_tests::{corpus, llvm_tool, wave_cases};
use fallible_iterator::FallibleIterator;
use hetdwarf::arch::{Processor, WaveSize};
use hetdwarf::isa::Decoder;
use hetdwarf::object::CodeObject;

fn bytes(dwords: &[u32]) -> Vec<u8> {
    dwords
        .iter()
        .flat_map(|dword| dword.to_le_bytes())
        .collect()
}

/// Decodes each instruction from exactly the bytes that LLVM assigns to it, and from these bytes with the following ones.
fn check(decoder: &Decoder, lines: &[Line], wave_size: WaveSize, processor: &str) -> [usize; 2] {
    let [mut same, mut refused] = [0, 0];
    let mut problems = Vec::new();
    for line in lines {
        let mut code = bytes(&line.dwords);

        code.extend([0; 20]);
        let at = || {
            format!(
                "{processor} {:#x} {:08x?} {}",
                line.address, line.dwords, line.text
            )
        };
        match decoder.decode(&code, line.address) {
            _ if text::is_garbage(line.dwords[0], &line.text, processor) => refused += 1,
            Err(_) if text::may_refuse(line.dwords[0], &line.text) => refused += 1,
            Err(error) => problems.push(format!("{}: {error}", at())),
            Ok(ours) => {
                if let Err(problem) =
                    text::compare(&ours, &line.dwords, &line.text, wave_size, processor)
                {
                    problems.push(format!("{}: {problem}", at()));
                }
                for cut in 0..usize::from(ours.length) {
                    assert!(
                        decoder.decode(&code[..cut], line.address).is_err(),
                        "{}",
                        at()
                    );
                }
                same += 1;
            }
        }
    }
    assert!(
        problems.is_empty(),
        "{:#?}",
        problems.iter().take(20).collect::<Vec<_>>()
    );
    [same, refused]
}

/// The comparison of the texts of instructions: the same, not printed, and wrong.
#[derive(Default)]
struct Texts {
    same: usize,
    unknown: BTreeMap<String, usize>,
    wrong: Vec<String>,
}

impl Texts {
    fn add(&mut self, decoder: &Decoder, line: &Line, at: &str) {
        // Words on which LLVM remarks are not instructions.
        if line.text.contains("/*") || line.text.contains("Warning") {
            return;
        }
        let mut code = bytes(&line.dwords);
        code.extend([0; 20]);
        let Ok(ours) = decoder.print(&code, line.address) else {
            return;
        };
        if ours == line.text {
            self.same += 1;
        } else if ours.starts_with(".long") {
            let name = line.text.split(' ').next().unwrap();
            *self.unknown.entry(name.to_owned()).or_default() += 1;
        } else {
            let dwords = &line.dwords;
            self.wrong.push(format!(
                "{at} {dwords:08x?}: {ours:?}, LLVM has {:?}",
                line.text
            ));
        }
    }
}

/// Compares every instruction of every code object: length, name, operands and written registers. The waves have the same `text` sections
/// as their code objects.
#[test]
fn the_corpus_decodes_as_llvm_disassembles_it() {
    let Some(objdump) = llvm_tool("llvm-objdump") else {
        return;
    };
    let waves = wave_cases().into_iter().flat_map(|case| {
        std::fs::read_dir(case)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| {
                path.extension()
                    .is_some_and(|extension| extension == "hsaco")
            })
            .collect::<Vec<_>>()
    });
    let (mut files, mut instructions, mut named) = (0, 0, 0);
    let mut texts = Texts::default();
    for path in corpus().into_iter().chain(waves) {
        let data = std::fs::read(&path).unwrap();
        let Ok(object) = CodeObject::parse(&data) else {
            continue;
        };
        let processor = object.target().processor();
        let name = path.file_name().unwrap().to_str().unwrap();
        let wave_size = if name.contains("-w64") || name == "lane_pc.hsaco" {
            Some(WaveSize::Wave64)
        } else {
            processor.default_wave_size()
        };
        let decoder = Decoder::new(processor, wave_size).expect(name);
        let lines = disassemble(&objdump, &path, wave_size.unwrap());
        let [same, refused] = check(&decoder, &lines, wave_size.unwrap(), processor.name());
        assert_eq!(refused, 0, "{name}");
        for line in &lines {
            texts.add(&decoder, line, name);
        }
        files += usize::from(same > 0);
        instructions += same;
        // Decoding a whole run must give the same boundaries.
        for run in
            lines.chunk_by(|one, next| one.address + 4 * one.dwords.len() as u64 == next.address)
        {
            let code: Vec<u8> = run.iter().flat_map(|line| bytes(&line.dwords)).collect();
            let ours: Vec<_> = decoder
                .instructions(&code, run[0].address)
                .collect()
                .expect(name);
            named += ours.iter().filter(|one| one.mnemonic.is_some()).count();
            let addresses: Vec<_> = ours.iter().map(|one| one.address).collect();
            let theirs: Vec<_> = run.iter().map(|line| line.address).collect();
            assert_eq!(addresses, theirs, "{name}");
        }
    }
    println!("{files} files, {instructions} instructions, {named} with a name");
    assert!(files > 80 && instructions > 30_000 && named > 15_000);
    let unknown: usize = texts.unknown.values().sum();
    println!(
        "{} printed as LLVM does, {unknown} not: {:?}; {} wrong",
        texts.same,
        texts.unknown,
        texts.wrong.len()
    );
    let first: Vec<_> = texts.wrong.iter().take(30).collect();
    assert!(texts.wrong.is_empty(), "{first:#?}");
    assert!(unknown * 100 < texts.same, "{:?}", texts.unknown);
}

const PROCESSORS: [(&str, WaveSize); 14] = [
    ("gfx900", WaveSize::Wave64),
    ("gfx906", WaveSize::Wave64),
    ("gfx908", WaveSize::Wave64),
    ("gfx90a", WaveSize::Wave64),
    ("gfx942", WaveSize::Wave64),
    ("gfx950", WaveSize::Wave64),
    ("gfx1010", WaveSize::Wave32),
    ("gfx1030", WaveSize::Wave64),
    ("gfx1100", WaveSize::Wave32),
    ("gfx1150", WaveSize::Wave64),
    ("gfx1200", WaveSize::Wave32),
    ("gfx1200", WaveSize::Wave64),
    ("gfx1201", WaveSize::Wave32),
    ("gfx1250", WaveSize::Wave32),
];

#[test]
fn every_family_with_instructions_is_compared() {
    let family = |name| Processor::by_name(name).unwrap().family();
    for processor in Processor::ALL {
        let compared = PROCESSORS
            .iter()
            .any(|(name, _)| family(name) == processor.family());
        let known = Decoder::new(processor, None).is_some();
        assert!(compared || !known, "no processor like {}", processor.name());
    }
}

/// Returns words of a fixed sequence: some are random, some have few bits set, and most have an encoding's prefix that is rare in random
/// words.
fn words(count: usize, seed: u64) -> impl Iterator<Item = u32> {
    let mut state = seed | 1;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 16) as u32
    };
    let prefixes = [
        0x2c, 0x2f, 0x20, 0x26, 0x1f, 0x30, 0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37, 0x38, 0x39,
        0x3a, 0x3b, 0x3c, 0x3d,
    ];
    let mut sources = 0;
    (0..count).map(move |n| {
        let word = match next() % 4 {
            0 => next(),
            1 => next() & next(),
            _ => next() & next() & next(),
        };
        // For encodings with three operands, the second dword names vector registers.
        let word = word | std::mem::take(&mut sources);
        match n % 3 {
            0 => {
                let prefix = prefixes[next() as usize % prefixes.len()];
                if matches!(prefix, 0x33..=0x35) && next() % 2 == 0 {
                    sources = 0x0402_0100;
                }
                word & 0x03ff_ffff | prefix << 26
            }
            _ => word,
        }
    })
}

/// Compares with LLVM's disassembly of a relocatable object with random words. LLVM can fail on some words; the output before is compared.
fn compare_random(count: usize, rounds: u64) {
    let (Some(mc), Some(objdump)) = (llvm_tool("llvm-mc"), llvm_tool("llvm-objdump")) else {
        return;
    };
    let folder = std::env::temp_dir().join(format!("isa-{}-{count}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let mut texts = Texts::default();
    let (source, object) = (folder.join("words.s"), folder.join("words.o"));
    for (name, wave_size) in PROCESSORS {
        let processor = Processor::by_name(name).unwrap();
        let decoder = Decoder::new(processor, Some(wave_size)).unwrap();
        let (mut same, mut refused) = (0, 0);
        for round in 1..=rounds {
            let text: String = words(count, 0x9e37_79b9_7f4a_7c15 ^ round << 20)
                .map(|word| format!(".long {word:#x}\n"))
                .collect();
            std::fs::write(&source, format!(".text\nwords:\n{text}")).unwrap();
            let status = Command::new(&mc)
                .args([
                    "-triple=amdgcn-amd-amdhsa",
                    &format!("-mcpu={name}"),
                    "-filetype=obj",
                    "-o",
                ])
                .args([&object, &source])
                .status()
                .unwrap();
            assert!(status.success());
            let [one, other] = check(
                &decoder,
                &disassemble(&objdump, &object, wave_size),
                wave_size,
                name,
            );
            same += one;
            refused += other;
            for line in disassemble(&objdump, &object, wave_size) {
                texts.add(&decoder, &line, name);
            }
        }
        println!("{name} {wave_size:?}: {same} the same, {refused} that are none");
        assert!(same > count / 8, "{name}: LLVM decoded little");
    }
    let unknown: usize = texts.unknown.values().sum();
    println!("{} printed as LLVM does, {unknown} not", texts.same);
    let first: Vec<_> = texts.wrong.iter().take(30).collect();
    assert!(texts.wrong.is_empty(), "{first:#?}");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn random_words_decode_as_llvm_disassembles_them() {
    compare_random(4_000, 2);
}

#[test]
#[ignore = "takes minutes"]
fn many_random_words_decode_as_llvm_disassembles_them() {
    compare_random(20_000, 15);
}
