import Testing

@Suite("The catalogue's articles")
struct DocumentationTests {
    @Test("The catalogue has articles and snippets")
    func exist() {
        #expect(Catalogue.articles.contains("RuntimeSemantics"))
        #expect(Catalogue.snippetFiles.contains("GettingStarted"))
    }

    @Test("Every Swift block is compiled", arguments: Catalogue.articles)
    func blocks(_ name: String) throws {
        let article = try Catalogue.article(name)
        let regions = try Catalogue.snippets(name).regions.map(\.text)
        for block in article.blocks where !regions.contains(block.text) && !Catalogue.package(of: name, contains: block.text) {
            Issue.record("\(name).md:\(block.line): this block is no region of Snippets/\(name).swift, and in no package that it shows")
        }
        if let line = article.openFence { Issue.record("\(name).md:\(line): this block doesn't end") }
    }

    @Test("Every compiled snippet stands in its article", arguments: Catalogue.snippetFiles)
    func regions(_ name: String) throws {
        let snippets = try Catalogue.snippets(name)
        for problem in snippets.problems { Issue.record("\(problem)") }
        let blocks = Catalogue.articles.contains(name) ? try Catalogue.article(name).blocks.map(\.text) : []
        for region in snippets.regions where !blocks.contains(region.text) {
            Issue.record("Snippets/\(name).swift:\(region.line): '\(region.name)' isn't shown in \(name).md")
        }
    }

    @Test("The table of the migration's examples counts their lines, and none has 25")
    func headlines() throws {
        let rows = try Catalogue.text(of: "Migration").split(separator: "\n").map { $0.split(separator: "|") }.filter { $0.count == 6 }
        for region in try Catalogue.snippets("Migration").regions {
            let lines = region.text.filter { !$0.isEmpty }.count
            let row = try #require(rows.first { $0[0].hasPrefix(" \(region.name):") }, "\(region.name) isn't in the table")
            #expect(row[3] == " \(lines) ", "\(region.name)")
            #expect(lines < 25, "\(region.name)")
        }
    }

    @Test("The Erlang of the articles compiles", .enabled(if: Erlang.isInstalled))
    func erlang() async throws {
        let modules = Article(name: "ComingFrom", text: try Catalogue.text(of: "ComingFrom"), language: "erlang").blocks.map(\.text)
        #expect(modules.count == 2)
        for module in modules { #expect(try await Erlang.compile(module) == "") }
    }

    @Test("Every article is linked from the front page", arguments: Catalogue.articles.filter { $0 != "Coordinators" })
    func links(_ name: String) throws {
        #expect(try Catalogue.text(of: "Coordinators").contains("- <doc:\(name)>"), "\(name).md isn't among the topics of Coordinators.md")
    }

    @Test("Every article that is linked exists", arguments: Catalogue.articles + Catalogue.decisions)
    func targets(_ name: String) throws {
        for (index, line) in try Catalogue.text(of: name).split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            for link in line.split(separator: "<doc:", omittingEmptySubsequences: false).dropFirst() {
                let target = String(link.prefix { $0 != ">" && $0 != "#" })
                let exists = Catalogue.articles.contains(target) || Catalogue.decisions.contains("Decisions/\(target)")
                #expect(exists, "\(name).md:\(index + 1): there is no article \(target)")
            }
        }
    }

    @Test("A block is found with its line, whatever its indentation, and other languages' blocks are left alone")
    func blockReading() {
        let text = "one\n```sh\nls\n```\n  ```swift\n      let a = 1\n\n        let b = 2\n  ```\n```swift\n"
        let article = Article(name: "Sample", text: text)
        #expect(article.blocks == [Article.Block(line: 5, text: ["let a = 1", "", "  let b = 2"])])
        #expect(article.openFence == 10)
    }

    @Test("A region is found without its marks, and wrong marks are reported")
    func regionReading() {
        let good = SnippetFile(name: "Sample", text: "x\n    // snippet: one\n    let a = 1\n    // end\ny")
        #expect(good.regions.map(\.text) == [["let a = 1"]])
        #expect(good.regions.map(\.line) == [2])
        #expect(good.problems.isEmpty)
        let bad = SnippetFile(name: "Sample", text: "// end\n// snippet: one\n// end\n// snippet: one\n// snippet: two\n")
        #expect(bad.problems.count == 4)
    }
}
