import Coordinators

extension DependencyKeys {
    /// The service for the details.
    ///
    /// Only its description, the language, crosses to other processes; each builds a service of its own from it, once, when the service is
    /// first needed.
    var detailsService: DescribedDependencyKey<any DetailsService, String> { .init { try LocalizedDetails(language: $0) } }

    /// The stream to which a coordinator reports that it has been released.
    ///
    /// The stream can't be encoded, so it stays in the process where it was provided.
    var farewell: DependencyKey<AsyncStream<Int>.Continuation> { .init() }
}
