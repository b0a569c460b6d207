#if Tools
import Diamond
import Foundation

/// The page of the queue: its depth by state and lane, what waits longest, errors and holds.
struct QueuePage {
    /// A part of the queue, and its depth over time.
    struct Row {
        let name: String
        let count: String
        /// The list of its jobs.
        let path: String
        let line: Sparkline
    }

    struct Hold {
        let kind: String
        let name: String
        let text: String
    }

    let isWritable: Bool
    let states: [Row]
    let lanes: [Row]
    /// The open jobs of other lanes, if there are some.
    let laneNote: String?
    let errors: [Row]
    /// The jobs that ``errors`` are about, if there are others.
    let errorNote: String?
    let holds: [Hold]
    let oldest: JobRow?

    /// - Parameters:
    ///   - counts: The current number of jobs in each state.
    ///   - samples: The earlier depths, the oldest first.
    init(
        counts: [ReplayState: Int], holds: [ReplayQueue.ActiveHold], samples: [QueueSample], isWritable: Bool,
        now: Date = Date()
    ) {
        let latest = samples.last ?? QueueSample(counts: counts)
        self.isWritable = isWritable
        states = ReplayState.allCases.map { state in
            let earlier = samples.map { $0.counts[state] ?? 0 }
            return Row(field: "state", value: state.description, count: counts[state] ?? 0, earlier: earlier)
        }
        lanes = Row.all(of: "lane", \.lanes, latest: latest, samples: samples)
        let others =
            QueueSample.open.reduce(0) { $0 + latest.counts[$1, default: 0] } - latest.lanes.values.reduce(0, +)
        laneNote = others > 0 ? "and \(Quantity.jobs(others)) in other lanes" : nil
        errors = Row.all(of: "error", \.errors, latest: latest, samples: samples)
        let failed = QueueSample.failedStates.reduce(0) { $0 + latest.counts[$1, default: 0] }
        errorNote = failed > latest.failed ? "of the first \(latest.failed) of \(Quantity.jobs(failed))" : nil
        self.holds = holds.map { Hold($0) }
        oldest = latest.oldest.map { JobRow($0, now: now) }
    }
}

extension QueuePage.Row {
    /// Returns the rows of the values of a field, those with the most jobs first.
    fileprivate static func all(
        of field: String, _ counts: KeyPath<QueueSample, [String: Int]>, latest: QueueSample, samples: [QueueSample]
    ) -> [Self] {
        latest[keyPath: counts].sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map { name, count in
            let earlier = samples.dropLast().map { $0[keyPath: counts][name] ?? 0 }
            return Self(field: field, value: name, count: count, earlier: earlier)
        }
    }

    /// - Parameter field: The field of the list's filter that has this value.
    fileprivate init(field: String, value: String, count: Int, earlier: [Int]) {
        name = value.withoutControls
        self.count = String(count)
        path = JobQuery.address(field: field, value: value)
        line = Sparkline(earlier + [count])
    }
}

extension QueuePage.Hold {
    fileprivate init(_ hold: ReplayQueue.ActiveHold) {
        let form = HoldForm(hold)
        kind = form.kind
        name = form.name ?? ""
        text = form.line.withoutControls
    }
}

extension QueuePage {
    static let routes = [
        Route.page("/queue") { _, inspector in
            await inspector.page("queue", title: "Queue", section: "/queue", try page(of: inspector))
        },
        Route.page("/queue/live") { _, inspector in
            // A part that stays the same keeps the focus of its buttons.
            .live {
                let value = ["page": try await page(of: inspector)]
                return [
                    "holds": Templates.render("queue-holds", value), "queue": Templates.render("queue-live", value),
                ]
            }
        },
    ]

    private static func page(of inspector: Inspector) async throws -> QueuePage {
        let queue = try await inspector.queue()
        return QueuePage(
            counts: try queue.counts(), holds: try queue.holds(),
            samples: try inspector.samples.all(of: queue), isWritable: inspector.isWritable)
    }
}

/// A line through numbers, in a box of 100 by 20.
struct Sparkline {
    /// The points of an SVG polyline; empty without numbers.
    let points: String
    /// The line in words.
    let label: String

    init(_ values: [Int]) {
        let largest = max(1, values.max() ?? 1)
        // One number is a line, too.
        let ends = values.count == 1 ? values + values : values
        points = ends.enumerated().map { index, value in
            "\(index * 100 / (ends.count - 1)),\(19 - max(0, value) * 18 / largest)"
        }.joined(separator: " ")
        let (first, last) = (values.first ?? 0, values.last ?? 0)
        label = "from \(first) to \(last), at most \(values.max() ?? 0)"
    }
}
#endif
