//! Lists the reasons why unwinding ends.

/// The reason why there is no further frame.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// The return address is undefined: this is the outermost frame.
    ReturnAddressUndefined,
    /// There is no call frame information for the program location.
    NoCfi,
    /// There is call frame information, but its row has no rules: LLVM 22 writes such rows.
    NoRules,
    /// The program location is in no function.
    NoFunction,
    /// The same frame repeated.
    Cycle,
    /// The limit on frames was reached.
    Limit,
    /// The call frame information is wrong, or needs unavailable data.
    Error,
}

impl Stopped {
    /// Returns the reason's stable name: `stopped` of the JSON documents.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Stopped::ReturnAddressUndefined => "return-address-undefined",
            Stopped::NoCfi | Stopped::NoRules => "no-cfi",
            Stopped::NoFunction => "no-function",
            Stopped::Cycle => "cycle",
            Stopped::Limit => "limit",
            Stopped::Error => "error",
        }
    }

    /// Returns the reason as text.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Stopped::ReturnAddressUndefined => {
                "the return address is undefined: this is the outermost frame"
            }
            Stopped::NoCfi => "there is no call frame information for this code",
            Stopped::NoRules => {
                "the call frame information for this code has no rules: the caller is unknown"
            }
            Stopped::NoFunction => "this code is not in a function",
            Stopped::Cycle => "the frame repeats an earlier one",
            Stopped::Limit => "the limit on frames was reached",
            Stopped::Error => "the call frame information cannot be used",
        }
    }
}
