import WireProtocol

/// What must hold of the decoders of frames and tickets, whatever the bytes are.
enum FuzzedFrames {
    /// Returns what is wrong; `nil` when all is well.
    static func problem(_ bytes: [UInt8]) -> String? {
        problem(bytes, .default) ?? problem(bytes, FrameLimits(maximumFrameSize: 64, maximumNameLength: 4, maximumSecretLength: 4))
            ?? ticketProblem(bytes)
    }

    private static func problem(_ bytes: [UInt8], _ limits: FrameLimits) -> String? {
        let (frames, error) = decode(bytes, limits, copies: false)
        let (copied, sameError) = decode(bytes, limits, copies: true)
        guard frames == copied, error == sameError else { return "copying small payloads changes what is decoded" }
        var encoded: [UInt8] = []
        for frame in frames {
            let start = encoded.count
            FrameEncoder.append(frame, to: &encoded)
            guard encoded.count - start <= limits.maximumFrameSize else { return "a frame beyond the limit was decoded" }
        }
        guard bytes.starts(with: encoded) else { return "the decoded frames have other bytes" }
        guard let error else { return encoded.count == bytes.count ? nil : "bytes were skipped" }
        return (encoded.count...bytes.count).contains(error.offset) ? nil : "the error \(error) isn't in the frame after those decoded"
    }

    private static func decode(_ bytes: [UInt8], _ limits: FrameLimits, copies: Bool) -> ([Frame], WireError?) {
        var decoder = FrameDecoder(bytes, limits: limits, copiesSmallPayloads: copies)
        var frames: [Frame] = []
        do throws(WireError) {
            while let frame = try decoder.next() { frames.append(frame) }
            return (frames, nil)
        } catch {
            return (frames, error)
        }
    }

    private static func ticketProblem(_ bytes: [UInt8]) -> String? {
        guard let ticket = try? Ticket(decoding: bytes) else { return nil }
        return ticket.encoded() == bytes ? nil : "the decoded ticket has other bytes"
    }
}
