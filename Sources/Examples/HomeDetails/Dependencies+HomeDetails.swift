import Coordinators

/// The service for the details.
///
/// Only its description, the language, crosses to other processes; each builds a service of its own from it, once, when the service is
/// first needed.
enum DetailsServiceKey: DescribedDependencyKey {
    typealias Value = any DetailsService
    typealias Descriptor = String

    static func make(from language: String) throws -> any DetailsService { try LocalizedDetails(language: language) }
}

/// The stream to which a coordinator reports that it has been released.
///
/// The stream can't be encoded, so it stays in the process where it was provided.
enum FarewellKey: DependencyKey {
    typealias Value = AsyncStream<Int>.Continuation
}

extension Dependencies {
    /// The service for the details.
    var detailsService: (any DetailsService)? {
        get { self[DetailsServiceKey.self] }
        set { self[DetailsServiceKey.self] = newValue }
    }

    /// The stream to which a coordinator reports that it has been released.
    var farewell: AsyncStream<Int>.Continuation? {
        get { self[FarewellKey.self] }
        set { self[FarewellKey.self] = newValue }
    }
}
