//! What CORBA Messaging adds to requests: the value that carries an exception to a reply handler,
//! and the policies that travel in a service context.

use corbie::messaging::ExceptionHolder;
use corbie::policy::{InvocationPolicies, PolicyType};
use corbie::{Marshal, TypeCode};

use super::Dialect;

/// A dialect, then a value of `Messaging::ExceptionHolder` in any of the forms that a value may
/// have: raised, and written again.
pub fn exception_holder(data: &[u8]) {
    let Some((dialect, octets)) = Dialect::take(data) else { return };
    let Ok(holder) = ExceptionHolder::decode(&mut dialect.decoder(octets)) else { return };
    let types = [
        TypeCode::exception("IDL:Test/Refused:1.0", "Refused", &[("why", TypeCode::string(0))]),
        TypeCode::exception("IDL:Test/Nothing:1.0", "Nothing", &[]),
    ];
    assert!(holder.raise_exception().is_err(), "a holder always raises something");
    assert!(holder.raise_exception_with_list(&types).is_err());
    let _ = holder.user_exception();
    let _ = holder.members(|d| d.read_string().map(|text| text.len()));
    let mut e = dialect.encoder();
    ExceptionHolder::encode(&holder, &mut e).expect("what was read can be written");
    let octets = e.to_vec();
    let again = ExceptionHolder::decode(&mut dialect.decoder(&octets)).expect("own octets");
    assert_eq!(holder, again);
    assert!(octets.len() <= 128 + holder.marshaled_exception().len());
}

/// The data of an INVOCATION_POLICIES service context (CORBA 3.3 P2 §9.8.1): whatever is accepted
/// can be asked for every kind of policy.
pub fn invocation_policies(data: &[u8]) {
    let Ok(policies) = InvocationPolicies::read(data) else { return };
    for number in 0..64 {
        if let Some(policy) = policies.get(PolicyType(number)) {
            assert_eq!(policy.policy_type(), PolicyType(number));
        }
    }
    let _ = (policies.request_end(), policies.reply_end(), policies.priority());
}
