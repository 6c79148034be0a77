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

    /// Each file of the tables, made anew.
    pub fn check() {
        let (Some(mc), Some(objdump)) = (llvm_tool("llvm-mc"), llvm_tool("llvm-objdump")) else {
            return;
        };
        let folder =
            std::env::temp_dir().join(format!("instruction-tables-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let llvm = probe::Llvm {
            mc,
            objdump,
            folder,
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
}

#[test]
fn every_table_is_made() {
    isa::check_names();
}

#[test]
fn the_tables_are_what_llvm_says() {
    isa::check();
}
