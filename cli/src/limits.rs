//! `--limit`: changes bounds on work and memory.

use clap::Args;

use hetdwarf::error::Limit;
use hetdwarf::limits::Limits;

/// Bounds on work and memory.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct LimitArguments {
    /// Change a limit on work or memory; --help lists them
    #[arg(long, value_name = "NAME=N", value_delimiter = ',', value_parser = parse, long_help = help())]
    limit: Vec<(Limit, u64)>,
}

impl LimitArguments {
    /// Returns the default limits with the changes of `--limit`.
    pub(crate) fn limits(&self) -> Limits {
        let mut limits = Limits::DEFAULT;
        for (limit, value) in &self.limit {
            limits.set(*limit, *value);
        }
        limits
    }
}

fn parse(text: &str) -> Result<(Limit, u64), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=N")?;
    let limit = Limit::named(name)?;
    let value = value
        .parse()
        .map_err(|_| format!("{name}: expected a number, found {value:?}"))?;
    let most = Limits::most(limit);
    if value > most {
        return Err(format!("{name} can be {most} at most"));
    }
    Ok((limit, value))
}

/// Lists the limits with their defaults.
fn help() -> String {
    let lines = Limit::ALL.map(|limit| {
        let (name, text) = (limit.name(), limit.text());
        format!("  {name:<15}  {text} ({})", Limits::DEFAULT.get(limit))
    });
    format!(
        "Change a limit on work or memory. An answer that reaches a limit is incomplete, and the error names the \
         limit.\n\n{}",
        lines.join("\n")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_chosen_is_checked() {
        assert_eq!(parse("steps=100"), Ok((Limit::Steps, 100)));
        assert_eq!(parse("depth=41"), Err("depth can be 40 at most".to_owned()));
        assert_eq!(parse("depth"), Err("expected NAME=N".to_owned()));
        let error = parse("step=1").unwrap_err();
        assert!(
            error.starts_with("there is no limit \"step\"; there are steps, stack, "),
            "{error}"
        );
        let error = parse("steps=-1").unwrap_err();
        assert_eq!(error, "steps: expected a number, found \"-1\"");
    }
}
