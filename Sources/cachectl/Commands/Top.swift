#if Tools
import ArgumentParser
import Diamond
import DiamondInspection
import Foundation

struct Top: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "top",
        abstract: "Shows the requests of running programs by host, each second, until Ctrl-C.",
        discussion: """
            Programs record events if their Engine.Configuration has recordsEvents = true. HITS is the part of the \
            lookups that the cache answered, also after the server confirmed the response. P50 and P99 are the \
            latencies, of two digits, of the requests that a server answered, or whose exchange with it failed. FAILED \
            are the requests with an error or a status from 500 on. IN FLIGHT are the attempts on the wire now. \
            Without a terminal, with --once and with --json, it prints the figures and ends.

            EXAMPLE
              cachectl top --once --seconds 300
            """
    )

    @OptionGroup var place: QueueOptions

    @Option(
        help: ArgumentHelp("Count the events of the last N seconds (default: 60).", valueName: "N"),
        transform: Limit.init(argument:))
    var seconds = Limit(60)

    @Flag(help: "Print the figures once.")
    var once = false

    func validate() throws {
        guard seconds.count <= 86_400 else { throw ValidationError("--seconds is more than a day: give 86400 or less") }
    }

    func run() async throws {
        guard !once, !place.json, Screen.isPossible else { return try await printOnce() }
        try await Screen.use { try await redraw() }
    }

    private var view: TopView { TopView(of: place, seconds: seconds.count) }

    /// Draws each second, until the task is canceled. The size is read each time, because it may have changed.
    private func redraw() async throws {
        var view = view
        repeat {
            try Screen.draw(try await view.lines(width: Output.width, height: Output.height))
        } while (try? await Task.sleep(for: .seconds(1))) != nil
    }

    private func printOnce() async throws {
        var view = view
        guard !place.json else { return Output.json(try await view.form()) }
        try Output.attempt(lines: try await view.lines(width: Output.width))
        if !view.hasEvents { Output.note(Watch.hint(place.place.location.directory)) }
    }
}

/// The figures of a store, as of each call.
private struct TopView {
    private let place: QueueOptions
    private var reader: EventFileReader
    private var window: EventWindow
    private var queue: ReplayQueue?

    init(of place: QueueOptions, seconds: Int) {
        self.place = place
        reader = EventFileReader(directory: place.place.location.directory, includesEarlier: true)
        window = EventWindow(seconds: seconds)
    }

    var hasEvents: Bool { reader.hasFile }

    mutating func lines(width: Int?, height: Int? = nil) async throws -> [String] {
        let jobs = await jobs()
        return try figures().lines(seconds: window.seconds, jobs: jobs, width: width, height: height)
    }

    mutating func form() async throws -> JSONObject {
        let jobs = await jobs()
        return try figures().form(seconds: window.seconds, jobs: jobs)
    }

    private mutating func figures() throws -> EventFigures {
        window.add(reader.read(), at: .now)
        if let error = reader.error { throw error }
        return window.figures()
    }

    /// A queue that is created later is found, too.
    private mutating func jobs() async -> CountsForm? {
        if queue == nil { queue = try? await place.findQueue() }
        return (try? queue?.counts()).map(CountsForm.init)
    }
}
#endif
