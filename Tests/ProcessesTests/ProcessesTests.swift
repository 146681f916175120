import Testing

/// All suites of this module run one after the other: they count descriptors and children of one and the same process.
@Suite(.serialized) enum ProcessesTests {}
