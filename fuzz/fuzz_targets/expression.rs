//! Any bytes as an expression: decoded, printed, encoded again and evaluated.
#![no_main]

use hetdwarf::eval::{Context, ExpressionBytes, LaneFocus, ResultKind, Unit, evaluate};
use hetdwarf::expr::{Encoding, Printer};
use hetdwarf::location::Arena;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let encoding = Encoding::AMDGPU;
    let text = Printer::new(encoding).expression(bytes);
    assert!(
        text.len() <= 64 + 200 * bytes.len(),
        "text that is not linear in the input"
    );
    let arena = Arena::new();
    for lane in [LaneFocus::None, LaneFocus::All] {
        let mut context = Context::new(&arena);
        context.lane = lane;
        let expression = ExpressionBytes::alone(bytes, Unit::unknown(encoding));
        // An error is an answer too.
        let _ = evaluate(expression, ResultKind::Any, &context);
    }
});
