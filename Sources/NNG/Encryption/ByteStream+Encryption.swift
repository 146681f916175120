extension ByteStream {
    /// Shakes hands with the peer of an encrypted stream, unless that has been done.
    ///
    /// - Throws: `.peerNotAuthenticated` when the peer's certificate isn't to be trusted, `.cryptography` when the peer doesn't trust this end's or
    ///   speaks no TLS, and what `receive` throws.
    func shakeHands(before deadline: ContinuousClock.Instant?) async throws(NNGError) {
        guard let session else { return }
        while true {
            let progress = session.shakeHands()
            let output = session.takeOutput()
            if case .failed(let code) = progress {
                // The peer is told why, if it can be.
                if !output.isEmpty { try? postUnencrypted(output) }
                throw NNGError(code, operation: "negotiate", address: address)
            }
            do throws(NNGError) {
                if !output.isEmpty { try await write(output, timeout: remaining(before: deadline)) }
            } catch {
                // A part of it may have left, and the rest can't be made again.
                close()
                throw error
            }
            if case .done = progress { return }
            try await readOn(session, before: deadline)
        }
    }

    /// Waits for bytes, and returns the number of those that have been decrypted.
    func decrypt(
        with session: TLSSession,
        into buffer: TransferBuffer,
        before deadline: ContinuousClock.Instant?
    ) async throws(NNGError) -> Int {
        try await shakeHands(before: deadline)
        while true {
            switch session.decrypt(into: buffer.bytes) {
            case .done(let count): return count
            case .failed(let code): throw NNGError(code, operation: "receive", address: address)
            case .needsInput: try await readOn(session, before: deadline)
            }
        }
    }

    /// Returns bytes as they are sent: encrypted, unless nothing is on this stream.
    func encrypted(_ bytes: [UInt8]) throws(NNGError) -> [UInt8] {
        guard let session else { return bytes }
        return try session.encrypt(bytes)
    }

    private func readOn(_ session: TLSSession, before deadline: ContinuousClock.Instant?) async throws(NNGError) {
        session.arrived(try await read(into: session.input, keeping: session, timeout: remaining(before: deadline)))
    }

    /// Returns the time that remains for shaking hands and exchanging greetings; throws `.timedOut` when there is none.
    func remaining(before deadline: ContinuousClock.Instant?) throws(NNGError) -> Duration? {
        guard let deadline else { return nil }
        let remaining = deadline - .now
        guard remaining > .zero else { throw NNGError(.timedOut, operation: "negotiate", address: address) }
        return remaining
    }
}
