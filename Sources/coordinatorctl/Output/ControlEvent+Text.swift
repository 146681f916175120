import ConcurrencySupport
import Control

extension ControlEvent {
    /// The event on one line for people.
    var text: String {
        let head = "\(number)  \(time)  "
        let origin = [path.map { TextLayout.printable($0) }, life].compactMap(\.self).joined(separator: " ")
        let words = [kind.rawValue, origin, details].filter { !$0.isEmpty }
        return head + words.joined(separator: "  ")
    }

    private var life: String? {
        let parts = [incarnation.map { "life \($0)" }, pid.map { "pid \($0)" }].compactMap(\.self)
        return parts.isEmpty ? nil : "(\(parts.joined(separator: ", ")))"
    }

    private var details: String {
        var parts: [String] = []
        if let request { parts.append(request.text) }
        if let count { parts.append(kind == .gap ? "\(count) events are missing here" : "\(count) messages") }
        if let attempt { parts.append("attempt \(attempt)") }
        if let delayMilliseconds { parts.append("in \(Duration.milliseconds(delayMilliseconds).briefText)") }
        if let reason { parts.append(TextLayout.printable(reason)) }
        return parts.joined(separator: ", ")
    }
}

extension ControlEvent.Request {
    fileprivate var text: String {
        let name = user ?? "uid \(uid)"
        let origin = TextLayout.printable(command.map { "\($0) [\(pid)]" } ?? "pid \(pid)")
        let place = node.map { TextLayout.printable(" on \($0)") } ?? ""
        return "\(operation) by \(name): \(outcome) after \(Duration.milliseconds(durationMilliseconds).briefText) (\(origin)\(place))"
    }
}
