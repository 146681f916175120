import Coordinators

/// The service for the details.
///
/// Its description, the language, is what crosses to other processes; each builds a service of its own from it, once, when it is first
/// needed.
enum DetailsServiceKey: DescribedDependencyKey {
    typealias Value = any DetailsService
    typealias Descriptor = String

    static func make(from language: String) throws -> any DetailsService { try LocalizedDetails(language: language) }
}

/// Where a coordinator says that it's out of memory.
///
/// It can't be encoded, so it stays in the process where it was provided.
enum FarewellKey: DependencyKey {
    typealias Value = AsyncStream<Int>.Continuation
}

extension Dependencies {
    /// The service for the details.
    var detailsService: (any DetailsService)? {
        get { self[DetailsServiceKey.self] }
        set { self[DetailsServiceKey.self] = newValue }
    }

    /// Where a coordinator says that it's out of memory.
    var farewell: AsyncStream<Int>.Continuation? {
        get { self[FarewellKey.self] }
        set { self[FarewellKey.self] = newValue }
    }
}
