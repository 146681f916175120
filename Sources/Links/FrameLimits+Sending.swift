import WireProtocol

extension FrameLimits {
    /// Why a name must not be sent: the other side would close the link.
    func refusal(ofName text: String) -> LinkError? {
        let size = text.utf8.count
        guard size > maximumNameLength else { return nil }
        return LinkError(.nameTooLong, "a name of \(size) bytes is longer than \(maximumNameLength): '\(text.prefix(32))…'")
    }

    /// The same for what stands in a frame as text.
    func refusal(ofTextsIn content: Content) -> LinkError? {
        switch content {
        case .start(let start): refusal(ofName: start.path) ?? refusal(ofName: start.type)
        case .inspect(let inspect): refusal(ofName: inspect.operation)
        case .reply(.failure(let failure)), .streamEnd(.some(let failure)): refusal(ofName: failure.code)
        default: nil
        }
    }
}
