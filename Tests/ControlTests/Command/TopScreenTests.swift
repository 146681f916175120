import ConcurrencySupport
import Control
import Processes
import Testing

@testable import coordinatorctl

/// The screen of `top`, its figures and its keys.
@Suite struct TopScreenTests {
    private static func node(_ path: String, _ state: String, pid: Int32?, handled: UInt64, _ children: [TreeNode] = []) -> TreeNode {
        let key = path.split(separator: "/").last.map(String.init) ?? "/"
        return TreeNode(
            key: key,
            path: path,
            type: "Type",
            kind: .coordinator,
            state: state,
            pid: pid,
            incarnation: 1,
            restartAttempt: state == "restarting" ? 4 : nil,
            nextStartMilliseconds: state == "restarting" ? 2_500 : nil,
            uptimeMilliseconds: 60_000,
            placement: .worker,
            mailbox: TreeNode.Mailbox(waiting: 3, running: 1, oldestWaitingMilliseconds: 40, handled: handled),
            children: children
        )
    }

    private static func sample(_ handled: UInt64, ticks: UInt64, at seconds: Int64) -> TopSample {
        let children = [node("/web", "active", pid: 12, handled: handled, [node("/web/a", "active", pid: 12, handled: 0)])]
        let tree = node("/", "active", pid: 10, handled: 0, children + [node("/job", "restarting", pid: nil, handled: 0)])
        var sample = TopSample(tree, at: .init(nanoseconds: seconds * 1_000_000_000))
        sample.usage = [12: ProcessUsage(ticks: ticks, residentBytes: 5 << 20, startTime: 1)]
        return sample
    }

    private static let rows = TopRow.rows(sample(300, ticks: 150, at: 2), before: sample(100, ticks: 100, at: 1))

    private func screen(
        _ width: Int,
        _ height: Int,
        _ view: TopScreen.View = .init(),
        colours: Colours = .off,
        notice: TopNotice? = nil,
        log: TopScreen.Log? = nil
    ) -> [String] {
        var screen = TopScreen(rows: Self.rows, view: view, width: width, height: height, colours: colours, time: "12:00:00")
        (screen.notice, screen.log) = (notice, log)
        screen.view = screen.settledView
        return screen.lines()
    }

    private static let log = TopScreen.Log(
        path: "/web",
        lines: (1...30).map { number in
            LogLine(time: "2026-11-22T20:41:\(number + 10).1Z", path: number == 30 ? "/web/a" : "/web", line: "line \(number) 日本\u{1B}[2J")
        }
    )

    @Test("Rates are those between two samples; a process counts once, at its topmost coordinator")
    func figures() throws {
        let web = try #require(Self.rows.first { $0.path == "/web" })
        #expect(web.handledPerSecond == 200)
        #expect(web.cpuPercent == 50 * 100 / ProcessUsage.ticksPerSecond)
        #expect(web.memoryBytes == 5 << 20)
        let inside = try #require(Self.rows.first { $0.path == "/web/a" })
        #expect(inside.cpuPercent == nil && inside.memoryBytes == nil)
        let report = TopReport(Self.rows)
        #expect(report.processes == 2 && report.states == ["active": 3, "restarting": 1] && report.memoryBytes == 5 << 20)
    }

    @Test("A number that a new life counts from zero, or another process with the same number, is no rate")
    func newLives() {
        var later = Self.sample(5, ticks: 3, at: 2)
        later.usage[12]?.startTime = 2
        later.tree.children[0].incarnation = 2
        let web = TopRow.rows(later, before: Self.sample(100, ticks: 100, at: 1)).first { $0.path == "/web" }
        #expect(web?.handledPerSecond == nil && web?.cpuPercent == nil)
    }

    @Test("No line is wider than the terminal and no screen higher, for every size")
    func sizes() {
        for width in [1, 7, 20, 40, 80, 200] {
            for height in [1, 2, 5, 6, 24] {
                for colours in [Colours.off, Colours(areOn: true)] {
                    for (mode, question) in [
                        (.rows, nil), (.help, nil), (.filter, nil), (.rows, TopRequest(action: .stop, path: "/web")),
                        (.log(path: "/web", back: 0), nil), (.log(path: "/web", back: 1_000), nil), (.log(path: "/none", back: 0), nil),
                    ] as [(TopScreen.View.Mode, TopRequest?)] {
                        var view = TopScreen.View()
                        (view.mode, view.question) = (mode, question)
                        let lines = screen(width, height, view, colours: colours, log: Self.log)
                        #expect(lines.count == height)
                        #expect(lines.allSatisfy { $0.shownCount <= width })
                        if question != nil, width > 20 { #expect(lines.last?.contains("stop /web") == true) }
                    }
                }
            }
        }
    }

    @Test("A state is told by mark and word, with the countdown; colours are only added")
    func states() {
        let lines = screen(100, 12)
        #expect(lines[1] == "↻ 1 restarting  ● 3 active")
        #expect(lines.contains { $0.contains("↻") && $0.contains("job") && $0.contains("restarting 4 in 2s") })
        #expect(!lines.joined().contains("\u{1B}"))
        #expect(screen(100, 12, colours: Colours(areOn: true)).joined().contains("\u{1B}[33m"))
    }

    @Test("Keys sort, filter and move the cursor, which stays on its path")
    func keys() {
        var view = TopScreen.View()
        let paths = Self.rows.map(\.path)
        func press(_ text: String) -> Bool {
            FullScreen.keys(Array(text.utf8)[...]).allSatisfy { view.follow($0, rows: paths, capacity: 10) }
        }
        view.keepCursorVisible(rows: paths, capacity: 2)
        #expect(view.selected == "/")
        #expect(press("\u{1B}[B\u{1B}[Bj"))
        #expect(view.selected == "/job")
        view.keepCursorVisible(rows: paths, capacity: 2)
        #expect(view.top == 2)
        view.keepCursorVisible(rows: ["/job", "/"], capacity: 2)
        #expect(view.selected == "/job" && view.top == 0)
        #expect(press("/web é\u{7F}\r"))
        #expect(view.filter == "web " && view.mode == .rows)
        #expect(press("s"))
        #expect(view.order == .state)
        #expect(press("m") && view.order == .memory)
        #expect(press("?") && view.mode == .help && press("x") && view.mode == .rows)
        #expect(!press("q"))
        let sorted = TopOrder.state.sorted(Self.rows, reversed: false)
        #expect(sorted.first?.path == "/job")
    }

    @Test("Each action has a key of its own, and is asked before if processes end by it", arguments: TopAction.allCases)
    func actions(_ action: TopAction) {
        #expect(Set(TopAction.allCases.map(\.key)).count == TopAction.allCases.count && action.key.isUppercase)
        let request = TopRequest(action: action, path: "/web")
        for mode in [TopScreen.View.Mode.rows, .log(path: "/web", back: 0)] {
            for (answer, isWanted) in [("y", true), ("Y", true), ("n", false), ("q", false), ("\u{1B}", false), ("\r", false)] {
                var view = TopScreen.View()
                (view.mode, view.selected) = (mode, "/web")
                func press(_ key: FullScreen.Key) {
                    if !view.follow(key, rows: ["/web"], capacity: 9) { Issue.record("top is left by \(key)") }
                }
                press(.character(action.key))
                #expect(view.question == (action.endsProcesses ? request : nil) && view.wish == (action.endsProcesses ? nil : request))
                guard action.endsProcesses else { continue }
                #expect(screen(80, 9, view).last == "\(action.name) /web and the 1 below it? y: yes, any other key: no")
                FullScreen.keys(Array(answer.utf8)[...]).forEach(press)
                #expect(view.question == nil && view.wish == (isWanted ? request : nil) && view.mode == mode)
            }
        }
    }

    @Test("What an action has come to stands in the last line")
    func notices() {
        #expect(screen(80, 9, notice: TopNotice(text: "/web: inactive\u{7}")).last == "/web: inactive\\u{07}")
        let failed = screen(80, 9, colours: Colours(areOn: true), notice: TopNotice(text: "can't stop /web: no", isFailure: true))
        #expect(failed.last == "\u{1B}[1;31mcan't stop /web: no\u{1B}[0m")
    }

    @Test("The log of a row follows its end, or stays where it was scrolled to, and can't drive the terminal")
    func logOfRow() {
        var view = TopScreen.View()
        view.selected = "/web"
        func press(_ text: String) -> [String] {
            for key in FullScreen.keys(Array(text.utf8)[...]) where !view.follow(key, rows: ["/web"], capacity: 5) {
                Issue.record("top is left by \(key)")
            }
            var screen = TopScreen(rows: Self.rows, view: view, width: 60, height: 7, colours: .off, time: "12:00:00")
            screen.log = Self.log
            view = screen.settledView
            screen.view = view
            return screen.lines()
        }
        let end = press("l")
        #expect(end[0].hasPrefix("/web  active") && end[0].hasSuffix("12:00:00") && end.last?.contains("S stop") == true)
        #expect(end[4] == "20:41:39Z  line 29 日本\\u{1B}[2J" && end[5] == "20:41:40Z  /web/a: line 30 日本\\u{1B}[2J")
        let scrolled = press("kk\u{1B}[5~")
        #expect(view.mode == .log(path: "/web", back: 7) && scrolled[5].contains("line 23 ") && scrolled[0].contains("held, 7 lines below"))
        #expect(press("\u{1B}[H")[1].contains("line 1 ") && view.mode == .log(path: "/web", back: 25))
        #expect(press("j")[1].contains("line 2 ") && press("\u{1B}[F")[5].contains("line 30 "))
        for key in ["q", "l", "\u{1B}", "\r", "\u{7F}"] {
            _ = press(key)
            #expect(view.mode == .rows)
            _ = press("\r")
            #expect(view.mode == .log(path: "/web", back: 0))
        }
        let none = screen(60, 7, view, log: TopScreen.Log(path: "/web", problem: "no\u{202E}"))
        #expect(none[1] == "no\\u{202E}")
    }

    @Test("The kernel's line is read whatever the program's name is")
    func processLine() {
        let fields = (3...52).map { $0 == 14 ? "7" : $0 == 15 ? "5" : $0 == 22 ? "99" : $0 == 24 ? "2" : "0" }
        let line = "12 (a ) b) " + fields.joined(separator: " ")
        let usage = ProcessUsage(parsing: line)
        #expect(usage?.ticks == 12 && usage?.startTime == 99 && (usage?.residentBytes ?? 0) > 0)
        #expect(ProcessUsage(parsing: "12 (a)") == nil)
    }
}
