//! Features of quality of service, from the client's side: calls that time out leave everything
//! else usable.

use super::ami::hasty;
use super::client::{Call, Named, Outcome, calls, check_work, some};
use super::raised_system;
use crate::values::{Different, expect};

pub(super) const FEATURES: &[Named] = &[("timeout", timeout)];

fn timeout(call: &Call) -> Outcome {
    let (it, hasty) = (calls(call)?, hasty(call, 60)?);
    for n in 0..4 {
        let outcome = hasty.delayed(1, 250).map_err(|e| raised_system(&e));
        let is_timeout = outcome
            .as_ref()
            .is_err_and(|e| e.starts_with("TIMEOUT ") && e.ends_with(" COMPLETED_MAYBE"));
        expect(is_timeout, &format!("the call came to {outcome:?}"))?;
        // Over the same connection, where it is one.
        let got = it.work(n, &some()).map_err(|e| Different(e.to_string()))?;
        check_work(&got, n)?;
        expect(hasty.from_base(n)? == super::base(n), "the hasty one is not answered")?;
    }
    Ok(())
}
