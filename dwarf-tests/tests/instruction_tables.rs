//! Generates the table of machine instructions (`src/isa/table/rows.rs`) from LLVM 22's disassembler of every opcode, and a list of facts.
//!
//! With `HETDWARF_WRITE_TABLES=1` the table is written. Otherwise it is compared.

// The library's layouts of encodings are included at this path, because their readers need this visibility.
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

    use std::path::{Path, PathBuf};

    use dwarf_tests::llvm_tool;
    use write::{Generation, Processor};

    /// Returns a processor in the column that it shares with others of its generation.
    const fn one(name: &'static str, wave_size: u32) -> Processor {
        Processor {
            name,
            has_column: false,
            wave_size,
        }
    }

    /// Returns a processor with its own column.
    const fn own(name: &'static str, wave_size: u32) -> Processor {
        Processor {
            has_column: true,
            ..one(name, wave_size)
        }
    }

    /// The generations in the order of the columns, each with the processors that are disassembled.
    const GENERATIONS: [Generation; 5] = [
        Generation {
            name: "gfx9",
            layouts: table::all::LAYOUTS[0],
            has_vop3_literal: false,
            processors: &[
                one("gfx900", 64),
                one("gfx906", 64),
                one("gfx908", 64),
                own("gfx90a", 64),
                own("gfx942", 64),
                own("gfx950", 64),
            ],
        },
        Generation {
            name: "gfx10",
            layouts: table::all::LAYOUTS[1],
            has_vop3_literal: true,
            processors: &[one("gfx1010", 32), one("gfx1030", 32)],
        },
        Generation {
            name: "gfx11",
            layouts: table::all::LAYOUTS[2],
            has_vop3_literal: true,
            processors: &[one("gfx1100", 32), one("gfx1150", 32)],
        },
        Generation {
            name: "gfx12",
            layouts: table::all::LAYOUTS[3],
            has_vop3_literal: true,
            processors: &[one("gfx1200", 32)],
        },
        Generation {
            name: "gfx125x",
            layouts: table::all::LAYOUTS[4],
            has_vop3_literal: true,
            processors: &[one("gfx1250", 32)],
        },
    ];

    /// Returns the path of the file with the rows.
    fn path() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../src/isa/table/rows.rs")
    }

    /// Returns LLVM's tools, and a folder for a test. Returns `None` if the tools are not installed.
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

    /// Generates the table, and writes or compares it.
    pub fn check() {
        let Some(llvm) = llvm("instruction-tables") else {
            return;
        };
        let text = write::file(&GENERATIONS, &llvm);
        if std::env::var_os("HETDWARF_WRITE_TABLES").is_some() {
            std::fs::write(path(), &text).unwrap();
        }
        let present = std::fs::read_to_string(path()).unwrap();
        let mut lines = present.lines().zip(text.lines());
        let first = lines.find(|(one, other)| one != other);
        assert!(
            present == text,
            "made with HETDWARF_WRITE_TABLES=1 the table would be another; the first difference: {first:?}"
        );
        std::fs::remove_dir_all(&llvm.folder).unwrap();
    }

    /// Checks processors that were not disassembled for the tables: they have the same instructions as processors of their family that
    /// were.
    pub fn check_others() {
        let Some(llvm) = llvm("other-processors") else {
            return;
        };
        let of_name = |name: &str| hetdwarf::arch::Processor::by_name(name).unwrap();
        let mut compared = 0;
        for generation in GENERATIONS {
            let asked = generation.processors.iter();
            let asked: Vec<_> = asked
                .map(|one| {
                    (
                        of_name(one.name),
                        one.has_column,
                        generation.rows(&llvm, one),
                    )
                })
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
                // The column of the family, and the column that other processors share.
                let tables = asked
                    .iter()
                    .filter(|(one, has_column, _)| is_like(one) || !has_column);
                let tables: Vec<_> = tables.map(|(_, _, rows)| rows).collect();
                let wave_size = other.default_wave_size().unwrap().lanes();
                for (key, row) in generation.rows(&llvm, &one(other.name(), wave_size)) {
                    assert!(
                        tables.iter().any(|rows| rows.get(&key) == Some(&row)),
                        "{} has {row}, which no column has: {} has to ask it",
                        other.name(),
                        generation.name
                    );
                }
                compared += 1;
            }
        }
        println!("{compared} processors");
        assert!(compared > 20, "{compared}");
        std::fs::remove_dir_all(&llvm.folder).unwrap();
    }

    /// Facts missing from LLVM's text are required for every scalar instruction, because it may write EXEC or jump.
    pub fn check_facts() {
        let text = std::fs::read_to_string(path()).unwrap();
        let scalar = |line: &str| {
            let (_, rest) = line.split_once(" \"s_")?;
            let end = rest.find([' ', '"'])?;
            Some(format!("s_{}", &rest[..end]))
        };
        let names: Vec<_> = text.lines().filter_map(scalar).collect();
        for name in &names {
            assert!(facts::is_known(name), "{name} is in no list of facts.rs");
        }
        assert!(names.len() > 400, "{}", names.len());
    }
}

/// Disassembles every opcode for thirty processors.
#[test]
#[ignore = "takes a minute"]
fn every_processor_has_the_instructions_of_its_family() {
    isa::check_others();
}

#[test]
fn every_scalar_instruction_was_looked_at() {
    isa::check_facts();
}

#[test]
fn the_table_is_what_llvm_says() {
    isa::check();
}
