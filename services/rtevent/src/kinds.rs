//! Numbers that stand for types of events, sources and designators, as TAO numbers them. The names
//! are TAO's without their prefix `ACE_ES_`.
//!
//! Used where subscriptions are read (`filter::form`) and written, and by applications.

/// Stands for any type.
pub const EVENT_ANY: i32 = 0;
/// The channel ends.
pub const EVENT_SHUTDOWN: i32 = 1;
/// A time-out that comes once.
pub const EVENT_TIMEOUT: i32 = 4;
/// A time-out that comes again and again.
pub const EVENT_INTERVAL_TIMEOUT: i32 = 5;
/// A time-out that comes when the consumer was given nothing for so long.
pub const EVENT_DEADLINE_TIMEOUT: i32 = 6;
/// Begins a part of a subscription that belongs to no group.
pub const GLOBAL_DESIGNATOR: i32 = 7;
/// Begins a group of which all are needed.
pub const CONJUNCTION_DESIGNATOR: i32 = 8;
/// Begins a group of which any will do.
pub const DISJUNCTION_DESIGNATOR: i32 = 9;
/// The next filter is not to accept the event.
pub const NEGATION_DESIGNATOR: i32 = 10;
/// Begins a group of filters that all are to accept one event.
pub const LOGICAL_AND_DESIGNATOR: i32 = 11;
/// The next entry has two masks, of which an event has to have a bit each; then comes a filter.
pub const BITMASK_DESIGNATOR: i32 = 12;
/// The next entry has two masks, the one after it what is to be left of an event's source and type.
pub const MASKED_TYPE_DESIGNATOR: i32 = 13;
/// Accepts every event.
pub const NULL_DESIGNATOR: i32 = 14;
/// Begins a group of which all are needed, in their order. Corbie's own: TAO has no such thing.
pub const SEQUENCE_DESIGNATOR: i32 = 15;
/// The types of an application are this and above.
pub const EVENT_UNDEFINED: i32 = 16;
/// Stands for any source.
pub const EVENT_SOURCE_ANY: i32 = 0;
