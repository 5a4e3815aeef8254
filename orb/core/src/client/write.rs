//! Writes requests: header, service contexts, arguments.
//!
//! Every request is written here, whether its thread waits for the reply or not.

use crate::client::{Invocation, Target};
use crate::policy::{BufferingConstraint, InvocationContext};
use crate::portable_interceptor::ServiceContext;
use corbie_cdr::{ByteOrder, CodeSets, Encoder, ErrorKind};
use corbie_connection::{Release, When};
use corbie_giop::{
    self as giop, AddressingDisposition, CodeSetContext, ListenPoints, RequestHeader, Tagged,
    TaggedList, finish_message, write_request,
};
use corbie_types::Ior;
use corbie_types::csi::SAS_CONTEXT;
use std::time::Instant;

/// Writes the arguments of a call.
pub(crate) type Arguments<'r, 'a> = &'r dyn Fn(&mut Encoder<'a>) -> Result<(), corbie_cdr::Error>;

/// What a request tells its server of more than itself.
#[derive(Clone, Copy, Default)]
pub(crate) struct News<'n> {
    /// Of the connection, which has not told it yet.
    pub(crate) code_sets: Option<CodeSets>,
    /// Where this end listens, likewise.
    pub(crate) points: Option<&'n ListenPoints>,
    /// As which user it is made.
    pub(crate) evidence: Option<&'n [u8]>,
}

/// Writes the whole request of `invocation`, which tells `news` if there are any. `ior`: the
/// reference called, for servers that ask for more than its key.
///
/// # Errors
/// What `invocation.arguments` makes; a message of 4 GiB or more.
#[inline]
pub(crate) fn write<'a>(
    encoder: &mut Encoder<'a>,
    id: u32,
    target: &Target,
    ior: &Ior,
    invocation: &Invocation<'_, 'a>,
    news: News<'_>,
) -> Result<(), corbie_cdr::Error> {
    let News { code_sets, points, evidence } = news;
    let tells = code_sets.is_some() | points.is_some() | evidence.is_some();
    if tells || invocation.policies.adds_contexts {
        write_with_contexts(encoder, id, target, ior, invocation, news)
    } else {
        write_plain(encoder, id, target, ior, invocation, &[])
    }
}

/// Writes a request that tells of more than itself.
#[cold]
fn write_with_contexts<'a>(
    encoder: &mut Encoder<'a>,
    request_id: u32,
    target: &Target,
    ior: &Ior,
    invocation: &Invocation<'_, 'a>,
    news: News<'_>,
) -> Result<(), corbie_cdr::Error> {
    let code_sets = news.code_sets.map(|sets| CodeSetContext::new(sets, ByteOrder::NATIVE));
    let policies = invocation.policies.travel.then(|| InvocationContext::new(invocation.policies));
    let of_code_sets = code_sets.as_ref().map(CodeSetContext::as_context);
    let of_policies = policies.as_ref().map(InvocationContext::as_context);
    let of_points = news.points.map(ListenPoints::as_context);
    let of_users = news.evidence.map(|data| Tagged { tag: SAS_CONTEXT, data });
    let mut contexts = [Tagged { tag: 0, data: &[] }; 4];
    let given = [of_code_sets, of_policies, of_points, of_users].into_iter().flatten();
    let count = contexts.iter_mut().zip(given).map(|(place, context)| *place = context).count();
    let own = &contexts[..count];
    match invocation.watch {
        None => write_plain(encoder, request_id, target, ior, invocation, own),
        Some(watch) => {
            let added = watch.added();
            let all: Vec<_> =
                own.iter().copied().chain(added.iter().map(ServiceContext::as_tagged)).collect();
            write_plain(encoder, request_id, target, ior, invocation, &all)
        }
    }
}

#[inline]
fn write_plain<'a>(
    encoder: &mut Encoder<'a>,
    request_id: u32,
    target: &Target,
    ior: &Ior,
    invocation: &Invocation<'_, 'a>,
    contexts: &[Tagged<'_>],
) -> Result<(), corbie_cdr::Error> {
    let (operation, response) = (invocation.operation.name(), invocation.response);
    let service_contexts = TaggedList::new(contexts);
    let by_key = target.addressing() == AddressingDisposition::Key;
    let start = if by_key
        && contexts.is_empty()
        && let Some(template) = &target.template
    {
        template.write(encoder, request_id, response, operation)?
    } else if by_key {
        let target = giop::Target::Key(&target.object_key);
        let header = RequestHeader { request_id, response, target, operation, service_contexts };
        write_request(encoder, &header)?
    } else {
        let profiles = tagged_profiles(ior);
        let target = addressed(target, ior, &profiles);
        let header = RequestHeader { request_id, response, target, operation, service_contexts };
        write_request(encoder, &header)?
    };
    (invocation.arguments)(encoder)?;
    finish_message(encoder, start)?;
    if encoder.len() > target.message_octets_max {
        return Err(too_large(encoder, target, operation));
    }
    Ok(())
}

/// The server would answer with MessageError and close the connection.
#[cold]
fn too_large(encoder: &Encoder<'_>, target: &Target, operation: &str) -> corbie_cdr::Error {
    let what = format!("the request {operation}");
    let found = format!("{} octets", encoder.len());
    let needed = format!(
        "at most {}, which is what the server takes (its message_octets_max)",
        target.message_octets_max
    );
    encoder.error(ErrorKind::LimitExceeded, what, found, needed)
}

/// The profiles of the reference in the form of a request header.
pub(crate) fn tagged_profiles(ior: &Ior) -> Vec<Tagged<'_>> {
    ior.profiles.iter().map(|profile| Tagged { tag: profile.tag, data: &profile.data }).collect()
}

/// The target in the form that the server asked for (CORBA 3.3 P2 §9.4.2.4).
#[cold]
pub(crate) fn addressed<'t>(
    target: &'t Target,
    ior: &'t Ior,
    profiles: &'t [Tagged<'t>],
) -> giop::Target<'t> {
    let profile = profiles.get(target.profile as usize).copied();
    match (target.addressing(), profile) {
        (AddressingDisposition::Profile, Some(profile)) => giop::Target::Profile(profile),
        (AddressingDisposition::Reference, Some(_)) => giop::Target::Reference {
            selected_profile: target.profile,
            type_id: ior.type_id.as_bytes(),
            profiles: TaggedList::new(profiles),
        },
        _ => giop::Target::Key(&target.object_key),
    }
}

/// When a request of a call that begins `now` is sent by policy. A thread waits for its reply:
/// without a time it is not kept longer than others.
pub(crate) fn held_call(constraint: BufferingConstraint, now: Instant) -> When {
    held(constraint, now, Release::Flush)
}

/// When a oneway is sent by policy: without a time it is kept until all is flushed.
pub(crate) fn held_oneway(constraint: BufferingConstraint, now: Instant) -> When {
    held(constraint, now, Release::FlushAll)
}

fn held(constraint: BufferingConstraint, now: Instant, without_time: Release) -> When {
    let until = constraint.time.and_then(|time| now.checked_add(time));
    When::Held {
        octets: constraint.octets.map_or(usize::MAX, |octets| octets as usize),
        messages: constraint.count.unwrap_or(0),
        until: until.map_or(without_time, Release::Time),
    }
}
