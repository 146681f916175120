import ConcurrencySupport

extension Node {
    private static let noConfiguration = Box(NoConfiguration())

    /// Sets the configuration, which the coordinator reads through its context.
    func configure<Configuration: Codable & Sendable>(with configuration: Configuration) {
        if configuration is NoConfiguration { return }
        let box = Box(configuration)
        state.withLock { $0.extras.configuration = box }
    }

    /// Returns the configuration.
    ///
    /// - Parameter type: The type of the coordinator's configuration.
    func configuration<Configuration: Codable & Sendable>(as type: Configuration.Type) -> Configuration {
        let box: any AnyObject & Sendable = state.withLock { $0.extras.configuration } ?? Self.noConfiguration
        // The type is the coordinator's own, and a coordinator is made after its configuration is set.
        return unsafeDowncast(box, to: Box<Configuration>.self).value
    }
}
