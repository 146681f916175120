import Control
import Glibc
import Processes
import TestSupport
import Testing

/// The exit codes that the manual pages of `coordinatord` and `coordinatorctl` list, each by its causes.
///
/// Permissions mean something to another user than root alone: root runs these as `nobody`.
@Suite("Exit codes as they are documented", .timeLimit(minutes: 2))
struct ExitCodeTests {
    /// A way to end, with the arguments; `DIRECTORY` is the user's own, `FOREIGN` one that is another user's, and `RUNS` that of a daemon.
    enum Cause: String, CaseIterable {
        case directoryIsFile, parentIsMissing, anotherRuns
        case noFile, longDirectory, unknownOption, twoFiles
        case directoryCantBeMade, directoryIsForeign, othersMayWrite, fileCantBeRead, checkedCantBeRead, importedCantBeRead, rootsAlone
        case fileIsMissing, fileIsWrong, groupIsUnknown, checkedIsWrong, checkedIsMissing, importIsWrong
        case checkedIsRight
        case statusOfRunning, statusOfStopped, statusOfNone, wrongTimeout, unreachable, tooLate, socketIsForeign, applyUnreadable,
            checkByControl

        /// Whether it's a way of `coordinatorctl` to end.
        var isControl: Bool {
            switch self {
            case .statusOfRunning, .statusOfStopped, .statusOfNone, .wrongTimeout, .unreachable, .tooLate, .socketIsForeign,
                .applyUnreadable,
                .checkByControl:
                true
            default: false
            }
        }

        var code: Int32 {
            switch self {
            case .checkedIsRight, .statusOfRunning: 0
            case .directoryIsFile, .parentIsMissing, .anotherRuns: 1
            case .statusOfStopped: 3
            case .statusOfNone: 4
            case .noFile, .longDirectory, .unknownOption, .twoFiles, .wrongTimeout: 64
            case .unreachable: 69
            case .tooLate: 75
            case .directoryCantBeMade, .directoryIsForeign, .othersMayWrite, .fileCantBeRead, .checkedCantBeRead, .importedCantBeRead,
                .rootsAlone, .socketIsForeign, .applyUnreadable, .checkByControl:
                77
            case .fileIsMissing, .fileIsWrong, .groupIsUnknown, .checkedIsWrong, .checkedIsMissing, .importIsWrong: 78
            }
        }

        var arguments: String {
            switch self {
            case .directoryIsFile: "--config DIRECTORY/right --runtime-dir DIRECTORY/right"
            case .parentIsMissing: "--config DIRECTORY/right --runtime-dir DIRECTORY/none/run"
            case .anotherRuns: "--config DIRECTORY/right --runtime-dir RUNS"
            // Without another option the file of the system's daemon would do, where there is one.
            case .noFile: "--json"
            case .longDirectory: "--config DIRECTORY/right --runtime-dir /\(String(repeating: "d", count: 100))"
            case .unknownOption: "--nonsense"
            case .twoFiles: "--config DIRECTORY/right --check-config DIRECTORY/right"
            case .directoryCantBeMade: "--config DIRECTORY/right --runtime-dir FOREIGN/hidden/run"
            case .directoryIsForeign: "--config DIRECTORY/right --runtime-dir FOREIGN"
            case .othersMayWrite: "--config DIRECTORY/right --runtime-dir DIRECTORY/open"
            case .fileCantBeRead: "--config FOREIGN/secret --runtime-dir DIRECTORY/run"
            case .checkedCantBeRead: "--check-config FOREIGN/secret"
            case .importedCantBeRead: "--import FOREIGN/secret"
            case .rootsAlone: "--config DIRECTORY/root --runtime-dir DIRECTORY/run"
            case .fileIsMissing: "--config DIRECTORY/none --runtime-dir DIRECTORY/run"
            case .fileIsWrong: "--config DIRECTORY/wrong --runtime-dir DIRECTORY/run"
            case .groupIsUnknown: "--config DIRECTORY/group --runtime-dir DIRECTORY/run"
            case .checkedIsWrong: "--check-config DIRECTORY/wrong"
            case .checkedIsMissing: "--check-config DIRECTORY/none"
            case .importIsWrong: "--import DIRECTORY/right"
            case .checkedIsRight: "--check-config DIRECTORY/right"
            case .statusOfRunning: "--runtime-dir RUNS status /a"
            case .statusOfStopped: "--runtime-dir RUNS status /b"
            case .statusOfNone: "--runtime-dir RUNS status /c"
            case .wrongTimeout: "--runtime-dir RUNS stop /a --timeout nonsense"
            case .unreachable: "--runtime-dir DIRECTORY/none tree"
            case .tooLate: "--runtime-dir RUNS start /late --timeout 100ms"
            case .socketIsForeign: "--runtime-dir FOREIGN/hidden tree"
            case .applyUnreadable: "--runtime-dir RUNS config diff FOREIGN/secret"
            case .checkByControl: "config check FOREIGN/secret"
            }
        }
    }

    private static let files = [
        "right": "children: []", "wrong": "childen: []", "group": "{ children: [], operators: [{ group: no-such-group }] }",
        "root": "children: [{ name: a, program: { command: ['true'], user: root } }]",
        "tree": """
        children:
          - { name: a, program: { command: [sleep, '1000'] } }
          - { name: b, autostart: false, program: { command: [sleep, '1000'] } }
          - { name: late, autostart: false, program: { command: [sleep, '1000'], ready: notify, start_timeout: 300s } }
        """,
    ]

    @Test(
        "Each cause has its code, and says what is wrong",
        .enabled(if: geteuid() == 0 && access("/usr/bin/setpriv", X_OK) == 0, "only root can become another user; needs /usr/bin/setpriv")
    )
    func codes() async throws {
        let (own, foreign) = (try TemporaryDirectory(), try TemporaryDirectory())
        for (name, text) in Self.files { try Files.write(text, to: own.file(name), mode: 0o644) }
        try #require(mkdir(own.file("open"), 0o700) == 0 && mkdir(foreign.file("hidden"), 0o700) == 0)
        for path in [own.path, own.file("open")] { try #require(chown(path, AnotherUserTests.nobody, 65_534) == 0) }
        chmod(own.file("open"), 0o777)
        chmod(foreign.path, 0o755)
        try Files.write("children: []", to: foreign.file("secret"))
        func command(_ arguments: String) -> [String] {
            let arguments = arguments.replacing("DIRECTORY", with: own.path).replacing("FOREIGN", with: foreign.path)
            return ["--reuid", "\(AnotherUserTests.nobody)", "--regid", "65534", "--clear-groups"]
                + arguments.replacing("RUNS", with: own.file("runs")).split(separator: " ").map(String.init)
        }
        let (daemon, control) = (RunningDaemon.coordinatord.path, BuiltProgram("coordinatorctl").path)
        let setpriv = BuiltProgram(path: "/usr/bin/setpriv")
        let running = ProcessSpecification(
            executable: setpriv.path,
            arguments: command("\(daemon) --config DIRECTORY/tree --runtime-dir RUNS"),
            standardOutput: .null,
            standardError: .null
        )
        try await withChild(running) { child in
            try await eventually("the daemon answers", within: .seconds(60)) {
                try await setpriv.run(command("\(control) --runtime-dir RUNS status /a")).exitCode == 0
            }
            for cause in Cause.allCases {
                let ended = try await setpriv.run(command("\(cause.isControl ? control : daemon) \(cause.arguments)"))
                #expect(ended.exitCode == cause.code, "\(cause): \(ended)")
                #expect([0, 3].contains(ended.exitCode) || !ended.errors.isEmpty, "\(cause)")
            }
            #expect(await child.terminate(grace: .patient(.seconds(20))) == .exited(code: 0))
        }
    }

    @Test("The manual pages list exactly these codes", arguments: [false, true])
    func documented(isControl: Bool) throws {
        let page = try #require(Files.text(of: "\(Files.packageRoot)/Deploy/man/\(isControl ? "coordinatorctl.1" : "coordinatord.8")"))
        let section = try #require(
            page.split(separator: ".Sh EXIT STATUS\n", maxSplits: 1).last?.split(separator: ".Sh", maxSplits: 1).first
        )
        let text = section.split(separator: "Ended by").first ?? section
        let listed = Set(text.split { !$0.isNumber }.compactMap { Int32($0) })
        var caused = Set(Cause.allCases.filter { $0.isControl == isControl }.map(\.code))
        // Others have their causes where they belong: a wrong file that is applied, an unhealthy program, an operation that fails.
        if isControl { caused.formUnion([1, 5, 78]) }
        #expect(listed == caused)
    }
}
