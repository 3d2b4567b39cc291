//! What joins experiments, described: the structs alone. How each is performed and enumerated is in `steps` and
//! `copies`.

/// One experiment, then a step that depends on its outcome; made by [`Experiment::then`](crate::Experiment::then).
#[derive(Debug, Clone, Copy)]
pub struct Then<E, F> {
    pub(crate) first: E,
    pub(crate) step: F,
}

/// A step repeated; made by [`Experiment::repeat`](crate::Experiment::repeat).
#[derive(Debug, Clone, Copy)]
pub struct Repeat<E, F> {
    pub(crate) start: E,
    pub(crate) times: u64,
    pub(crate) step: F,
}

/// The sum of independent performances; made by [`Experiment::sum_of`](crate::Experiment::sum_of).
#[derive(Debug, Clone, Copy)]
pub struct SumOf<E> {
    pub(crate) each: E,
    pub(crate) copies: u64,
}

/// The greatest of independent performances; made by [`Experiment::max_of`](crate::Experiment::max_of).
#[derive(Debug, Clone, Copy)]
pub struct MaxOf<E> {
    pub(crate) each: E,
    pub(crate) copies: u64,
}

/// The least of independent performances; made by [`Experiment::min_of`](crate::Experiment::min_of).
#[derive(Debug, Clone, Copy)]
pub struct MinOf<E> {
    pub(crate) each: E,
    pub(crate) copies: u64,
}
