#if Tools
import ArgumentParser
import Diamond
import DiamondInspection
import Foundation

struct Watch: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Prints the events of running programs as they come, until Ctrl-C.",
        discussion: """
            Programs record events if their Engine.Configuration has recordsEvents = true. A line has the time, the \
            program with its process, the kind, and the fields that the event has. --json prints one object per line. \
            --where takes these fields: \(RecordedEvent.fields.joined(separator: ", ")). If it is repeated, all \
            conditions must hold. = and ~ compare texts, >, >=, < and <= numbers. cachectl itself records none.

            EXAMPLE
              cachectl watch --last 20 --where kind=ended --where 'milliseconds>100'
            """
    )

    @OptionGroup var options: StoreChoiceOptions

    @Option(
        help: ArgumentHelp("Print the last N events first.", valueName: "N"), transform: Limit.init(argument:))
    var last: Limit?

    @Option(
        name: .customLong("where"),
        help: ArgumentHelp("Print only events with this field. Repeat it for more conditions.", valueName: "CONDITION"),
        transform: EventCondition.init(argument:))
    var conditions: [EventCondition] = []

    private static let interval = Duration.milliseconds(200)

    func run() async throws {
        let directory = options.place.location.directory
        var reader = EventFileReader(directory: directory, includesEarlier: last != nil)
        let recorded = try events(of: &reader)
        Output.note(reader.hasFile ? "watching; Ctrl-C ends" : Self.hint(directory) + "; waiting, Ctrl-C ends")
        show(last.map { recorded.suffix($0.count) } ?? recorded[...])
        while (try? await Task.sleep(for: Self.interval)) != nil { show(try events(of: &reader)[...]) }
    }

    /// The way to events where no program has recorded any.
    static func hint(_ directory: URL) -> String {
        "no program has recorded events in \(directory.path): set recordsEvents = true in its Engine.Configuration, "
            + "or name another store"
    }

    private func events(of reader: inout EventFileReader) throws -> [RecordedEvent] {
        let events = reader.read()
        if let error = reader.error { throw error }
        return events.filter { event in conditions.allSatisfy { $0.holds(for: event) } }
    }

    private func show(_ events: ArraySlice<RecordedEvent>) {
        for event in events { options.json ? Output.jsonLine(event.json) : Output.line(event.line) }
    }
}
#endif
