import NNG

extension NodeIdentity {
    /// The address of a trial.
    private static let loopback = "tls+tcp://127.0.0.1:0"

    /// Has the node shake hands with itself, as other nodes will.
    ///
    /// So a certificate that has expired, is by none of the authorities, hasn't the node's name or isn't that of the key is known before it's used.
    /// A machine on which the trial can't be made shows no more than whether the texts can be read.
    ///
    /// - Throws: `.badConfiguration` when no other node would believe these certificates.
    public func tryOut() async throws(ControlError) {
        do throws(NNGError) {
            try security.check()
        } catch {
            throw ControlError(.badConfiguration, "they can't be read: \(error.code)")
        }
        guard let listener = try? StreamListener(Self.loopback, security: security), let port = listener.port else { return }
        let code = await withTaskGroup(of: NNGError.Code?.self) { group in
            group.addTask { [security, name] in
                defer { listener.close() }
                do throws(NNGError) {
                    let place = NodeAddress(host: "127.0.0.1", port: UInt16(clamping: port))
                    try await PairConnection.dial(place.url, security: (security, name), timeout: NodeLinks.greetingLimit).close()
                    return nil
                } catch {
                    return error.code
                }
            }
            group.addTask {
                guard let stream = try? await listener.accept() else { return nil }
                _ = try? await PairConnection.negotiate(stream, timeout: NodeLinks.greetingLimit)
                stream.close()
                return nil
            }
            var code: NNGError.Code?
            for await failure in group { code = code ?? failure }
            return code
        }
        switch code {
        case .cryptography?, .peerNotAuthenticated?, .connectionShut?, .connectionReset?, .closed?:
            let advice = "look at the authority, the key, the certificate's name and its time"
            throw ControlError(.badConfiguration, "no node would believe that this is \(name): \(advice)")
        default: break
        }
    }
}
