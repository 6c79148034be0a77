//! The tables of machine instructions (`src/isa/table`) are what LLVM 22's disassembler says of every opcode, and a list.
//!
//! With `HETDWARF_WRITE_TABLES=1` they are written; without, compared.

// The layouts of encodings are those of the library; what reads them has to stand where they are visible.
#[path = "../../src/isa"]
#[allow(dead_code, reason = "the decoder has uses for more of it")]
mod isa {
    #[path = "table"]
    mod table {
        pub(super) mod layout;
        pub(super) mod all {
            use super::layout::{GFX9, GFX10, GFX11, GFX12, GFX125X, Layout};
            pub(in crate::isa) const LAYOUTS: [&[Layout]; 5] = [GFX9, GFX10, GFX11, GFX12, GFX125X];
        }
    }
    #[path = "../../dwarf-tests/tests/instruction_tables/facts.rs"]
    mod facts;
    #[path = "../../dwarf-tests/tests/instruction_tables/probe.rs"]
    mod probe;
    #[path = "../../dwarf-tests/tests/instruction_tables/shape.rs"]
    mod shape;
    #[path = "../../dwarf-tests/tests/instruction_tables/write.rs"]
    mod write;

    use std::path::Path;

    use dwarf_tests::llvm_tool;
    use write::{File, Processor};

    const fn one(name: &'static str, table: Option<&'static str>, wave_size: u32) -> Processor {
        Processor {
            name,
            table,
            wave_size,
        }
    }

    /// The files, and the processors that are asked for each.
    const FILES: [File; 5] = [
        File {
            path: "gfx9.rs",
            what: "gfx9: Vega, MI100, MI200, MI300, MI350. Where a later processor gives one another meaning, that stands in a\n//! table of its own, which goes first.",
            layouts: table::all::LAYOUTS[0],
            has_vop3_literal: false,
            processors: &[
                one("gfx900", None, 64),
                one("gfx906", None, 64),
                one("gfx908", None, 64),
                one("gfx90a", Some("GFX90A"), 64),
                one("gfx942", Some("GFX942"), 64),
                one("gfx950", Some("GFX950"), 64),
            ],
        },
        File {
            path: "gfx10.rs",
            what: "gfx10: RDNA 1 and RDNA 2.",
            layouts: table::all::LAYOUTS[1],
            has_vop3_literal: true,
            processors: &[one("gfx1010", None, 32), one("gfx1030", None, 32)],
        },
        File {
            path: "gfx11.rs",
            what: "gfx11: RDNA 3 and RDNA 3.5.",
            layouts: table::all::LAYOUTS[2],
            has_vop3_literal: true,
            processors: &[one("gfx1100", None, 32), one("gfx1150", None, 32)],
        },
        File {
            path: "gfx12.rs",
            what: "gfx1200 and gfx1201: RDNA 4.",
            layouts: table::all::LAYOUTS[3],
            has_vop3_literal: true,
            processors: &[one("gfx1200", None, 32)],
        },
        File {
            path: "gfx125x.rs",
            what: "gfx1250 and gfx1251.",
            layouts: table::all::LAYOUTS[4],
            has_vop3_literal: true,
            processors: &[one("gfx1250", None, 32)],
        },
    ];

    /// LLVM's tools, and a folder for a test; nothing if they are not installed.
    fn llvm(test: &str) -> Option<probe::Llvm> {
        let (mc, objdump) = (llvm_tool("llvm-mc")?, llvm_tool("llvm-objdump")?);
        let folder = std::env::temp_dir().join(format!("{test}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Some(probe::Llvm {
            mc,
            objdump,
            folder,
        })
    }

    /// Each file of the tables, made anew.
    pub fn check() {
        let Some(llvm) = llvm("instruction-tables") else {
            return;
        };
        let tables = Path::new(env!("CARGO_MANIFEST_DIR")).join("../src/isa/table");
        for file in FILES {
            let path = tables.join(file.path);
            let text = file.text(&llvm);
            if std::env::var_os("HETDWARF_WRITE_TABLES").is_some() {
                std::fs::write(&path, &text).unwrap();
            }
            let present = std::fs::read_to_string(&path).unwrap();
            let mut lines = present.lines().zip(text.lines());
            let first = lines.find(|(one, other)| one != other);
            assert!(
                present == text,
                "{}: made with HETDWARF_WRITE_TABLES=1 it would be another; the first difference: {first:?}",
                file.path
            );
        }
        std::fs::remove_dir_all(&llvm.folder).unwrap();
    }

    /// Processors that LLVM is not asked about for the tables have the instructions of those that it is.
    pub fn check_others() {
        let Some(llvm) = llvm("other-processors") else {
            return;
        };
        let of_name = |name: &str| hetdwarf::arch::Processor::by_name(name).unwrap();
        let mut compared = 0;
        for file in FILES {
            let asked = file.processors.iter();
            let asked: Vec<_> = asked
                .map(|one| (of_name(one.name), one.table, file.rows(&llvm, one)))
                .collect();
            for other in hetdwarf::arch::Processor::ALL {
                let is_like = |one: &hetdwarf::arch::Processor| one.family() == other.family();
                let is_asked = asked.iter().any(|(one, ..)| *one == other);
                if is_asked
                    || !asked.iter().any(|(one, ..)| is_like(one))
                    || !llvm.knows(other.name())
                {
                    continue;
                }
                // Its family's table, and the one that all of the file share.
                let tables = asked
                    .iter()
                    .filter(|(one, own, _)| is_like(one) || own.is_none());
                let tables: Vec<_> = tables.map(|(_, _, rows)| rows).collect();
                let wave_size = other.default_wave_size().unwrap().lanes();
                for (key, row) in file.rows(&llvm, &one(other.name(), None, wave_size)) {
                    assert!(
                        tables.iter().any(|rows| rows.get(&key) == Some(&row)),
                        "{} has {row}, which no table has: {} has to ask it",
                        other.name(),
                        file.path
                    );
                }
                compared += 1;
            }
        }
        println!("{compared} processors");
        assert!(compared > 20, "{compared}");
        std::fs::remove_dir_all(&llvm.folder).unwrap();
    }

    /// What of the folder nobody made is not in `FILES`.
    pub fn check_names() {
        let tables = Path::new(env!("CARGO_MANIFEST_DIR")).join("../src/isa/table");
        let made = FILES.iter().map(|file| file.path);
        let written = ["features.rs", "layout.rs", "mod.rs", "tests.rs"];
        let mut expected: Vec<_> = made.chain(written).collect();
        let present = std::fs::read_dir(tables).unwrap();
        let mut present: Vec<_> = present
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        expected.sort_unstable();
        present.sort_unstable();
        assert_eq!(present, expected);
    }

    /// What LLVM's text does not say has to be known of every scalar instruction: it may write EXEC, or jump.
    pub fn check_facts() {
        let tables = Path::new(env!("CARGO_MANIFEST_DIR")).join("../src/isa/table");
        let mut names = 0;
        for file in FILES {
            let text = std::fs::read_to_string(tables.join(file.path)).unwrap();
            let scalar = |line: &str| {
                let (_, rest) = line.split_once(" \"s_")?;
                let end = rest.find([' ', '"'])?;
                Some(format!("s_{}", &rest[..end]))
            };
            for name in text.lines().filter_map(scalar) {
                assert!(
                    facts::is_known(&name),
                    "{}: {name} is in no list of facts.rs",
                    file.path
                );
                names += 1;
            }
        }
        assert!(names > 1000, "{names}");
    }
}

#[test]
fn every_processor_has_the_instructions_of_its_family() {
    isa::check_others();
}

#[test]
fn every_scalar_instruction_was_looked_at() {
    isa::check_facts();
}

#[test]
fn every_table_is_made() {
    isa::check_names();
}

#[test]
fn the_tables_are_what_llvm_says() {
    isa::check();
}
