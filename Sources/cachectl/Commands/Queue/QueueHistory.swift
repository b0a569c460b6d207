#if Tools
import ArgumentParser
import Diamond
import Foundation

struct QueueHistory: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "history",
        abstract: "Prints how many jobs were added, sent, failed and so on, per day or hour.",
        discussion: """
            Days and hours are in UTC. Those without events are left out. The queue keeps the last 9,600 hours with \
            events. --json prints hours.

            EXAMPLE
              cachectl queue history --days 30
            """
    )

    @OptionGroup var place: QueueOptions

    @Option(
        help: ArgumentHelp("Print the last N days, including today, from 1 to 400 (default: 7).", valueName: "N"),
        transform: Limit.days(argument:))
    var days = Limit(7)

    @Flag(help: "Print one row per hour.")
    var hours = false

    func run() async throws {
        let today = (Date().timeIntervalSince1970 / 86_400).rounded(.down)
        let start = Date(timeIntervalSince1970: (today - Double(days.count - 1)) * 86_400)
        let queue = try await place.findQueue()
        show(try queue?.history(since: start) ?? [])
    }

    private func show(_ uses: [ReplayQueue.HourlyCount]) {
        let counts = Dictionary(grouping: uses, by: \.hour).mapValues { uses in
            Dictionary(uses.map { ($0.verb, $0.count) }, uniquingKeysWith: +)
        }
        guard !place.json else {
            let hours: [JSONObject] = counts.sorted { $0.key < $1.key }.map { hour, verbs in
                ["hour": Quantity.instant(hour), "verbs": verbs]
            }
            return Output.json(hours)
        }
        guard !uses.isEmpty else { return Output.note("nothing happened") }
        let length = hours ? 13 : 10
        let rows = Dictionary(grouping: uses) { String(Quantity.instant($0.hour).prefix(length)) }
        show(rows.mapValues { uses in Dictionary(uses.map { ($0.verb, $0.count) }, uniquingKeysWith: +) })
    }

    private func show(_ rows: [String: [String: Int]]) {
        let used = Set(rows.values.flatMap(\.keys))
        // Verbs of newer programs come after those that this program knows.
        let known = ReplayTransition.Verb.all.map(\.description).filter(used.contains)
        let verbs = known + used.subtracting(known).sorted()
        let cells = rows.sorted { $0.key < $1.key }.map { time, counts in
            [time.replacing("T", with: " ")] + verbs.map { String(counts[$0] ?? 0) }
        }
        let columns: [Table.Column] =
            [(hours ? "HOUR" : "DAY", .left)] + verbs.map { ($0.uppercased(), .right) }
        Output.table(Table(columns: columns, rows: cells))
    }
}
#endif
