/// The names of messages that belong to the runtime, and that no coordinator's message has.
package enum ReservedName {
    /// How they begin.
    @inlinable package static var prefix: String { "coordinators." }
}
