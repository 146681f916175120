/// What `doctor` has found about one thing.
struct Finding: Codable, Equatable {
    enum Status: String, Codable, CaseIterable {
        case ok, warning, problem
    }

    /// The thing that was examined, such as `descriptors`.
    var check: String
    /// How it is.
    var status: Status
    /// What was found.
    var message: String
    /// What to do about it; nil: all is well.
    var advice: String?

    static func ok(_ check: String, _ message: String) -> Finding { Finding(check: check, status: .ok, message: message) }

    static func warning(_ check: String, _ message: String, do advice: String) -> Finding {
        Finding(check: check, status: .warning, message: message, advice: advice)
    }

    static func problem(_ check: String, _ message: String, do advice: String) -> Finding {
        Finding(check: check, status: .problem, message: message, advice: advice)
    }
}

/// The output of `doctor`.
struct DoctorReport: Codable, Equatable {
    /// The worst of the findings' statuses.
    var status: Finding.Status
    /// What was found about each thing.
    var findings: [Finding]

    init(_ findings: [Finding]) {
        self.findings = findings
        let all = findings.map(\.status)
        status = all.contains(.problem) ? .problem : all.contains(.warning) ? .warning : .ok
    }

    func text(_ colours: Colours) -> String {
        let width = findings.map(\.check.count).max() ?? 0
        return findings.map { finding in
            let state = ["ok": "active", "warning": "paused", "problem": "failed"][finding.status.rawValue] ?? ""
            let padding = String(repeating: " ", count: width - finding.check.count)
            let status = finding.status.rawValue + String(repeating: " ", count: 7 - finding.status.rawValue.count)
            let advice = finding.advice.map { "\n\(String(repeating: " ", count: 9 + width + 2))→ \(TextLayout.printable($0))" } ?? ""
            return "\(colours.text(status, in: state))  \(finding.check)\(padding)  \(TextLayout.printable(finding.message))\(advice)\n"
        }.joined()
    }
}
