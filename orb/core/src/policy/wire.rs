//! Policies in messages and references: `PolicyValueSeq` (CORBA Messaging §22.3).
//!
//! `client/write` sends an [`InvocationContext`] with requests whose policies travel; `read`
//! takes what is known here out of such a context or out of a reference's `TAG_POLICIES`.

use crate::policy::{CallPolicies, Policy, PolicySet, PolicyType, PriorityRange, QueueOrder, UtcT};
use crate::profile::{Known, Profile};
use corbie_cdr::{Decoder, Error, Marshal as _};
use corbie_giop::{Tagged, service_context_id};
use corbie_types::ior::{Component, component_tag};
use corbie_types::{Ior, SystemException, TaggedProfile};

/// The order flag and padding of an encapsulation of ours, and the number of policies.
const HEADER: usize = 8;
/// The most that our policies take: four times, two priorities and an order.
const MOST: usize = HEADER + 4 * 32 + 2 * 16 + 12;

/// The data of an INVOCATION_POLICIES service context, made without allocation.
///
/// ```text
///  0      1  2  3   4 … 7           then for each policy
/// order   0  0  0   count: ulong │ ptype: ulong, length: ulong, an encapsulation, padding to 4
/// ```
#[derive(Clone, Copy, Debug)]
pub(crate) struct InvocationContext {
    octets: [u8; MOST],
    used: usize,
    count: u32,
}

impl InvocationContext {
    /// What of `policies` travels with a request that is sent now: relative times have become
    /// points in time (CORBA Messaging §22.2.4).
    #[cold]
    pub(crate) fn new(policies: &CallPolicies) -> Self {
        let mut context = InvocationContext { octets: [0; MOST], used: HEADER, count: 0 };
        context.octets[0] = u8::from(cfg!(target_endian = "little"));
        let earliest = |end: Option<UtcT>, relative: Option<std::time::Duration>| {
            let relative = relative.map(UtcT::after);
            end.into_iter().chain(relative).min_by_key(|end| end.time)
        };
        let request_end = earliest(policies.request_end, policies.request_timeout);
        let reply_end = earliest(policies.reply_end, policies.roundtrip_policy);
        context.time(PolicyType::REQUEST_START_TIME, policies.request_start);
        context.time(PolicyType::REQUEST_END_TIME, request_end);
        context.time(PolicyType::REPLY_START_TIME, policies.reply_start);
        context.time(PolicyType::REPLY_END_TIME, reply_end);
        context.priority(PolicyType::REQUEST_PRIORITY, policies.request_priority);
        context.priority(PolicyType::REPLY_PRIORITY, policies.reply_priority);
        if let Some(QueueOrder(order)) = policies.queue_order {
            context.policy(PolicyType::QUEUE_ORDER, &[&[0][..], &order.to_ne_bytes()]);
        }
        context.octets[4..HEADER].copy_from_slice(&context.count.to_ne_bytes());
        context
    }

    /// The service context to put into a request.
    pub(crate) fn as_context(&self) -> Tagged<'_> {
        let tag = service_context_id::INVOCATION_POLICIES;
        Tagged { tag, data: &self.octets[..self.used] }
    }

    fn time(&mut self, policy_type: PolicyType, time: Option<UtcT>) {
        let Some(UtcT { time, inacclo, inacchi, tdf }) = time else { return };
        let (time, inacclo) = (time.to_ne_bytes(), inacclo.to_ne_bytes());
        let (inacchi, tdf) = (inacchi.to_ne_bytes(), tdf.to_ne_bytes());
        self.policy(policy_type, &[&[0; 7][..], &time, &inacclo, &inacchi, &tdf]);
    }

    fn priority(&mut self, policy_type: PolicyType, range: Option<PriorityRange>) {
        let Some(PriorityRange { min, max }) = range else { return };
        self.policy(policy_type, &[&[0][..], &min.to_ne_bytes(), &max.to_ne_bytes()]);
    }

    /// Adds a policy; `value` is what follows the order flag of its encapsulation.
    fn policy(&mut self, PolicyType(number): PolicyType, value: &[&[u8]]) {
        self.used = self.used.next_multiple_of(4);
        let length: usize = 1 + value.iter().map(|part| part.len()).sum::<usize>();
        let order = [u8::from(cfg!(target_endian = "little"))];
        self.put(&number.to_ne_bytes());
        self.put(&u32::try_from(length).unwrap_or(0).to_ne_bytes());
        self.put(&order);
        value.iter().for_each(|part| self.put(part));
        self.count += 1;
    }

    fn put(&mut self, octets: &[u8]) {
        let end = self.used + octets.len();
        self.octets[self.used..end].copy_from_slice(octets);
        self.used = end;
    }
}

/// The policies in the data of a service context; those of kinds that are not known here are
/// passed over.
///
/// # Errors
/// The decoder's.
pub(crate) fn read_context(data: &[u8]) -> Result<PolicySet, Error> {
    let mut d = Decoder::from_encapsulation(data)?;
    let mut set = PolicySet::default();
    for _ in 0..d.read_length(8)? {
        let policy_type = PolicyType(d.read_ulong()?);
        if let Some(policy) = read_policy(policy_type, d.read_octet_sequence()?)? {
            set.insert(policy);
        }
    }
    Ok(set)
}

/// The policies that a reference says its server has: those of its first profile that can be read.
///
/// # Errors
/// `MARSHAL` (`COMPLETED_NO`) when the reference cannot be read.
pub(crate) fn exposed_by(known: Known<'_>, ior: &Ior) -> Result<PolicySet, SystemException> {
    let mut set = PolicySet::default();
    let decode = |p: &TaggedProfile| Profile::decode(known, p.tag, &p.data).ok()?;
    let profile = ior.profiles.iter().find_map(decode);
    let components = profile.iter().flat_map(|profile| &profile.components);
    for component in components.filter(|component| component.tag == component_tag::POLICIES) {
        let Component::Policies(policies) = component.parse()? else { continue };
        for (policy_type, value) in policies {
            if let Some(policy) = read_policy(PolicyType(policy_type), &value)? {
                set.insert(policy);
            }
        }
    }
    Ok(set)
}

/// A policy of a kind that travels; `None` for all others.
fn read_policy(policy_type: PolicyType, value: &[u8]) -> Result<Option<Policy>, Error> {
    let time = |make: fn(UtcT) -> Policy| {
        UtcT::decode(&mut Decoder::from_encapsulation(value)?).map(|time| Some(make(time)))
    };
    let priority = |make: fn(PriorityRange) -> Policy| {
        let mut d = Decoder::from_encapsulation(value)?;
        Ok(Some(make(PriorityRange { min: d.read_short()?, max: d.read_short()? })))
    };
    match policy_type {
        PolicyType::REQUEST_START_TIME => time(Policy::RequestStartTime),
        PolicyType::REQUEST_END_TIME => time(Policy::RequestEndTime),
        PolicyType::REPLY_START_TIME => time(Policy::ReplyStartTime),
        PolicyType::REPLY_END_TIME => time(Policy::ReplyEndTime),
        PolicyType::REQUEST_PRIORITY => priority(Policy::RequestPriority),
        PolicyType::REPLY_PRIORITY => priority(Policy::ReplyPriority),
        PolicyType::QUEUE_ORDER => {
            let order = Decoder::from_encapsulation(value)?.read_ushort()?;
            Ok(Some(Policy::QueueOrder(QueueOrder(order))))
        }
        _ => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Object, Orb};
    use std::time::Duration;

    fn context(policies: &[Policy]) -> InvocationContext {
        let orb = Orb::new(corbie_settings::Settings::default());
        let mut set = PolicySet::default();
        policies.iter().for_each(|policy| set.insert(*policy));
        let object = Object::with_policies(&orb, Ior::nil(), None, set);
        let effective = object.call_policies().expect("nothing contradicts");
        assert!(effective.travel);
        InvocationContext::new(&effective)
    }

    #[test]
    fn what_is_written_is_read() {
        let end = UtcT { time: 1 << 60, inacclo: 3, inacchi: 2, tdf: -60 };
        let all = [
            Policy::RequestStartTime(end),
            Policy::RequestEndTime(end),
            Policy::ReplyStartTime(end),
            Policy::ReplyEndTime(end),
            Policy::RequestPriority(PriorityRange { min: -5, max: 5 }),
            Policy::ReplyPriority(PriorityRange { min: 0, max: 0 }),
            Policy::QueueOrder(QueueOrder::TEMPORAL),
        ];
        for policies in [&all[..], &all[4..], &all[6..], &all[..1]] {
            let context = context(policies);
            let read = read_context(context.as_context().data).expect("reads");
            assert_eq!(read.iter().count(), policies.len());
            assert!(policies.iter().all(|policy| read.iter().any(|found| found == *policy)));
        }
    }

    #[test]
    fn the_earlier_end_travels() {
        let end = UtcT::after(Duration::from_secs(100));
        let relative = Policy::RelativeRequestTimeout(Duration::from_secs(1));
        let context = context(&[Policy::RequestEndTime(end), relative]);
        let read = read_context(context.as_context().data).expect("reads");
        let Some(Policy::RequestEndTime(found)) = read.get(PolicyType::REQUEST_END_TIME) else {
            panic!("{read:?}")
        };
        assert!(found.time < end.time && found.left() <= Duration::from_secs(1));
    }

    #[test]
    fn octets_of_others_are_read_or_refused() {
        let whole = context(&[
            Policy::ReplyEndTime(UtcT::now()),
            Policy::RequestPriority(PriorityRange { min: 1, max: 2 }),
        ]);
        let data = whole.as_context().data;
        for end in 0..data.len() {
            assert!(read_context(&data[..end]).is_err(), "cut off at {end}");
        }
        for at in 0..data.len() {
            for bit in 0..8 {
                let mut changed = data.to_vec();
                changed[at] ^= 1 << bit;
                // A value, another one, or a refusal: never more than is there.
                if let Ok(set) = read_context(&changed) {
                    assert!(set.iter().count() <= 2);
                }
            }
        }
    }
}
