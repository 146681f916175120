import WireProtocol

extension FlowRecord {
    /// The record as JSON, as it's decoded.
    package var text: [UInt8] {
        var writer = JSONWriter(capacity: 1_024)
        writer.object { writer in
            writer.member("type") { $0.write(type) }
            if let symbol { writer.member("symbol") { $0.write(symbol) } }
            writer.member("version") { $0.write(version) }
            writer.member("id") { $0.write(id) }
            writer.member("configuration") { $0.write(configuration) }
            writer.member("state") { $0.write(state) }
            writer.member("showings") { writer in
                writer.array { writer in for index in showings.indices { showings[index].write(&writer) } }
            }
            writer.member("standing") { standing.write(&$0) }
            if let parking { writer.member("parking") { parking.write(&$0) } }
            writer.member("outgoing") { writer in writer.array { writer in for message in outgoing { message.write(&writer) } } }
            writer.member("inbox") { inbox.write(&$0) }
            writer.member("changed") { $0.write(changed.nanoseconds) }
            writer.member("nextNumber") { $0.write(nextNumber) }
            if let latestInterruption { writer.member("latestInterruption") { $0.write(latestInterruption) } }
        }
        return writer.bytes
    }
}

extension FlowRecord.Standing {
    fileprivate func write(_ writer: inout JSONWriter) {
        writer.object { writer in
            switch self {
            case .open: writer.member("open") { $0.object { _ in } }
            case .unwinding(let reason): writer.member("unwinding") { $0.object { $0.member("because") { $0.write(reason) } } }
            case .finishing(let output): writer.member("finishing") { $0.object { $0.member("_0") { $0.write(output) } } }
            case .finished(let output): writer.member("finished") { $0.object { $0.member("_0") { $0.write(output) } } }
            case .unwound(let reason): writer.member("unwound") { $0.object { $0.member("because") { $0.write(reason) } } }
            }
        }
    }
}

extension FlowRecord.Showing: Decodable {
    private enum CodingKeys: CodingKey { case number, page, phase, isPopped, failures, interruptions, error, resumption }

    /// Whether its number and its page say all: most of a flow's pages are done, and stay.
    private var isPlain: Bool {
        phase == .performed && !isPopped && failures == 0 && interruptions == 0 && error == nil && resumption == nil
    }

    fileprivate func write(_ writer: inout JSONWriter) {
        if isPlain {
            return writer.array { writer in
                writer.write(number)
                writer.write(page)
            }
        }
        writer.object { writer in
            writer.member("number") { $0.write(number) }
            writer.member("page") { $0.write(page) }
            writer.member("phase") { $0.write(phase.rawValue) }
            if isPopped { writer.member("isPopped") { $0.write(isPopped) } }
            if failures != 0 { writer.member("failures") { $0.write(failures) } }
            if interruptions != 0 { writer.member("interruptions") { $0.write(interruptions) } }
            if let error { writer.member("error") { $0.write(error) } }
            if let resumption { writer.member("resumption") { $0.write(resumption.nanoseconds) } }
        }
    }

    package init(from decoder: any Decoder) throws {
        if var plain = try? decoder.unkeyedContainer() {
            self.init(number: try plain.decode(UInt64.self), page: try plain.decode(JSONText.self), phase: .performed)
            return
        }
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            number: try container.decode(UInt64.self, forKey: .number),
            page: try container.decode(JSONText.self, forKey: .page),
            phase: try container.decode(Phase.self, forKey: .phase),
            isPopped: try container.decodeIfPresent(Bool.self, forKey: .isPopped) ?? false,
            failures: try container.decodeIfPresent(Int.self, forKey: .failures) ?? 0,
            interruptions: try container.decodeIfPresent(Int.self, forKey: .interruptions) ?? 0,
            error: try container.decodeIfPresent(String.self, forKey: .error),
            resumption: try container.decodeIfPresent(WallTime.self, forKey: .resumption)
        )
    }
}

extension FlowRecord.Parking {
    fileprivate func write(_ writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("error") { $0.write(error) }
            writer.member("since") { $0.write(since.nanoseconds) }
        }
    }
}

extension FlowRecord.Outgoing {
    fileprivate func write(_ writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("origin") { $0.write(origin) }
            writer.member("number") { $0.write(number) }
            writer.member("name") { $0.write(name) }
            writer.member("message") { $0.write(message) }
            writer.member("due") { $0.write(due.nanoseconds) }
            writer.member("failures") { $0.write(failures) }
            if let error { writer.member("error") { $0.write(error) } }
            if let resumption { writer.member("resumption") { $0.write(resumption.nanoseconds) } }
        }
    }
}
