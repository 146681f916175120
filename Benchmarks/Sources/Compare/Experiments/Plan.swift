/// All experiments; those of a quick run are shorter, and have only the figures with a gate and the programs that those compare.
struct Plan {
    let quick: Bool
    let programs: Programs

    /// How long each program measures what it repeats for a while.
    var milliseconds: Int { quick ? 1_000 : 2_000 }

    /// The experiments in the order of the table.
    func experiments(containing text: String?) -> [Experiment] {
        let all =
            roundTrips + asks + oneWayMessages + chains + fanOuts + starts + workers + kills + slowConsumers + flows + linearity + sizes
        return all.compactMap { experiment in
            let isNamed = text.map { experiment.name.contains($0) } ?? true
            let figures = experiment.figures.filter { figure in
                (!quick || figure.requirement != nil) && (isNamed || figure.name.contains(text ?? ""))
            }
            if figures.isEmpty { return nil }
            let compared = figures.flatMap { [$0.subject, $0.reference] }
            let programs = experiment.programs.filter { !quick || compared.contains($0.label) }
            return Experiment(name: experiment.name, programs: programs, figures: figures, rounds: experiment.rounds)
        }
    }

    /// Makes an experiment whose programs run three times each, or as often as is said.
    func experiment(_ name: String, _ programs: [Program], _ figures: [Figure], rounds: Int = 3) -> Experiment {
        Experiment(name: name, programs: programs, figures: figures, rounds: rounds)
    }
}
