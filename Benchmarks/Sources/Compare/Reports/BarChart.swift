/// One figure of all programs, as bars that lie below each other.
struct BarChart {
    let svg: String

    init(_ plot: Plot, _ measured: Measured, _ machine: Machine) {
        let ours = measured.ours.map { [(label: Programs.ours, summary: $0)] } ?? []
        let bars = (ours + measured.peers).map { (label: $0.label, value: $0.summary.median) }
        let greatest = bars.map(\.value).max() ?? 1
        var drawing = Drawing(title: plot.title, note: machine.description)
        let height = min(46, 320 / Double(max(bars.count, 1)))
        for (index, bar) in bars.enumerated() {
            let top = 60 + Double(index) * height
            let width = bar.value / greatest * (Drawing.width - 290)
            let middle = top + height / 2
            drawing.text(bar.label, at: (190, middle), anchor: "end")
            drawing.bar(at: (200, top + 2), width: width, height: height - 8, colour: Drawing.colours[index == 0 && !ours.isEmpty ? 0 : 1])
            drawing.text(Table.number(bar.value), at: (206 + width, middle), anchor: "start")
        }
        svg = drawing.svg
    }
}
