// The library's own tests wait as its users' tests do.
@_exported public import func CoordinatorsTesting.eventually
