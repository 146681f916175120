import ConcurrencySupport

extension Node {
    /// The box of all coordinators without a configuration, so that none of them allocates one.
    private static let noConfiguration = Box(NoConfiguration())

    /// Sets the configuration, which the coordinator reads through its context.
    func configure<Configuration: Codable & Sendable>(with configuration: Configuration) {
        let box: any AnyObject & Sendable = configuration is NoConfiguration ? Self.noConfiguration : Box(configuration)
        state.withLock { $0.configuration = box }
    }

    /// Returns the configuration.
    ///
    /// - Parameter type: The type of the coordinator's configuration.
    func configuration<Configuration: Codable & Sendable>(as type: Configuration.Type) -> Configuration {
        guard let box = state.withLock({ $0.configuration }) else { preconditionFailure("\(path) has no configuration yet") }
        return unsafeDowncast(box, to: Box<Configuration>.self).value
    }
}
