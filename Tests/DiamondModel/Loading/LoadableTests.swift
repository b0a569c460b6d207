import Diamond
import DiamondSQLite
import DiamondTestSupport
import Dispatch
import Foundation
import Testing

@testable import DiamondModel

/// An object that is loaded without any request.
@ModelActor
private final class Weather: @ModelActor Loadable {
    let loadState: LoadState
    private(set) var text = ""
    private(set) var erasures: [Bool] = []
    var isRefusing = false
    let source: Source

    init(_ source: Source, now: @escaping () -> Date = { Date() }) {
        self.source = source
        loadState = LoadState(now: now)
    }

    func loader(for load: Load) -> (@concurrent @Sendable () async throws -> String)? {
        if load.scope == .more, text.count > 20 { return nil }
        return { [source] in try await source.load(load) }
    }

    func apply(_ text: String, of load: Load) throws {
        if isRefusing { throw Refusal() }
        self.text = load.scope == .more ? self.text + text : text
    }

    func age(of text: String) -> Duration? { .seconds(100) }

    func invalidator(isErasure: Bool) -> (@concurrent @Sendable () async throws -> Void)? {
        erasures.append(isErasure)
        return nil
    }
}

private struct Refusal: Error {}

/// Answers whose time the test chooses.
private final class Source: Sendable {
    private struct State {
        var loads: [Load] = []
        var canceled = 0
        var answers: [Awaiting] = []
    }

    private struct Awaiting {
        let gate = Gate()
        var result: Result<String, any Error> = .success("")
    }

    private let state = Guarded(State())
    private let ends = DispatchSemaphore(value: 0)

    func load(_ load: Load) async throws -> String {
        let index = state.withLock { state in
            state.loads.append(load)
            state.answers.append(Awaiting())
            return state.loads.count - 1
        }
        let gate = state.withLock { $0.answers[index].gate }
        await withTaskCancellationHandler {
            await gate.wait()
        } onCancel: {
            state.withLock { $0.canceled += 1 }
            gate.open()
        }
        defer { ends.signal() }
        return try state.withLock { try $0.answers[index].result.get() }
    }

    /// Blocks its thread until the work of a load has ended.
    func waitForEnd() { ends.wait() }

    func answer(_ index: Int, _ result: Result<String, any Error>) {
        let gate = state.withLock { state in
            state.answers[index].result = result
            return state.answers[index].gate
        }
        gate.open()
    }

    var loads: [Load] { state.withLock { $0.loads } }
    var canceled: Int { state.withLock { $0.canceled } }

    func hasBegun(_ count: Int) async { await untilTrue { loads.count >= count } }
}

@ModelActor
@Suite("A loadable object", .limit(minutes: 5)) struct LoadableTests {
    private let source = Source()
    private let forecast: Weather
    private var now = Date(timeIntervalSince1970: 1_000_000)

    init() {
        let date = now
        forecast = Weather(source) { date }
    }

    /// Begins a load, and returns once its work has begun.
    private func begin(_ load: Load = Load(), after count: Int = 0) async -> Task<Void, any Error> {
        let task = Task { try await forecast.load(load) }
        await source.hasBegun(count + 1)
        return task
    }

    @Test func `an object that was never loaded is neither loaded nor outdated`() {
        #expect(!forecast.isLoaded && !forecast.isOutdated && !forecast.isLoading)
        #expect(LoadState(hasSource: { false }).isLoaded)
    }

    @Test func `a load delivers the data, and reports its begin and end`() async throws {
        var events: [LoadEvent.Kind] = []
        let token = forecast.observeLoading { object, event in
            #expect(object === forecast)
            events.append(event.kind)
        }
        let task = await begin()
        #expect(forecast.isLoading && !forecast.isLoaded && !forecast.isLoadingMore)
        source.answer(0, .success("rain"))
        try await task.value
        #expect(forecast.text == "rain")
        #expect(forecast.isLoaded && !forecast.isLoading)
        #expect(forecast.loadState.loadedAt == now.addingTimeInterval(-100))
        #expect(events == [.started, .finished])
        token.cancel()
    }

    @Test func `equal loads share one load`() async throws {
        let first = await begin()
        let second = Task { try await forecast.load() }
        await untilTrue { true }
        source.answer(0, .success("rain"))
        try await first.value
        try await second.value
        #expect(source.loads.count == 1)
    }

    @Test func `a load with another policy replaces the running one, also for its callers`()
        async throws
    {
        let first = await begin()
        let second = await begin(Load(policy: .reload), after: 1)
        source.answer(1, .success("sun"))
        try await first.value
        try await second.value
        #expect(forecast.text == "sun")
        #expect(source.canceled == 1)
    }

    @Test func `a load of the next page joins the load from the beginning`() async throws {
        let first = await begin()
        source.answer(0, .success("rain"))
        try await first.value
        let second = await begin(Load(policy: .reload), after: 1)
        let more = Task { try await forecast.load(more: true) }
        source.answer(1, .success("sun"))
        try await second.value
        try await more.value
        #expect(source.loads.count == 2)
        #expect(forecast.text == "sun")
    }

    @Test func `a load of the next page starts at the beginning when nothing was loaded`() async throws {
        let task = Task { try await forecast.load(more: true) }
        await source.hasBegun(1)
        source.answer(0, .success("rain"))
        try await task.value
        #expect(source.loads == [Load()])
    }

    @Test func `a load of the next page keeps the age, and does nothing after the last page`() async throws {
        let first = await begin()
        source.answer(0, .success("rain"))
        try await first.value
        let loadedAt = forecast.loadState.loadedAt
        let more = await begin(Load(scope: .more), after: 1)
        #expect(forecast.isLoadingMore)
        source.answer(1, .success(", and rain, and then some"))
        try await more.value
        #expect(forecast.loadState.loadedAt == loadedAt)
        try await forecast.load(more: true)
        #expect(source.loads.count == 2)
    }

    @Test(arguments: [true, false])
    func `a failed load keeps the data and clears the flags`(
        _ isRefused: Bool
    ) async throws {
        let first = await begin()
        source.answer(0, .success("rain"))
        try await first.value
        var failures = 0
        let token = forecast.observeLoading([.failed]) { _, _ in failures += 1 }
        forecast.isRefusing = isRefused
        let second = await begin(after: 1)
        let joined = Task { try await forecast.load() }
        await Task.yield()
        source.answer(1, isRefused ? .success("sun") : .failure(Refusal()))
        await #expect(throws: Refusal.self) { try await second.value }
        await #expect(throws: Refusal.self) { try await joined.value }
        #expect(forecast.text == "rain")
        #expect(forecast.isLoaded && !forecast.isLoading && !forecast.isLoadingMore)
        #expect(forecast.loadState.error is Refusal)
        #expect(failures == 1)
        token.cancel()
    }

    @Test func `a caller that is canceled ends at once, and the load continues for the others`() async throws {
        let first = await begin()
        let second = Task { try await forecast.load() }
        await Task.yield()
        first.cancel()
        await #expect(throws: CancellationError.self) { try await first.value }
        #expect(forecast.isLoading)
        source.answer(0, .success("rain"))
        try await second.value
        #expect(forecast.text == "rain")
    }

    @Test func `a load ends when its last caller is canceled`() async throws {
        var events: [LoadEvent.Kind] = []
        let token = forecast.observeLoading { events.append($1.kind) }
        let task = await begin()
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(!forecast.isLoading && !forecast.isLoaded)
        #expect(source.canceled == 1)
        #expect(events == [.started, .canceled])
        let again = await begin(after: 1)
        source.answer(1, .success("sun"))
        try await again.value
        #expect(forecast.text == "sun")
        token.cancel()
    }

    @Test func `canceling ends the load for all callers, and late data is not applied`() async throws {
        let task = await begin()
        forecast.cancel()
        #expect(!forecast.isLoading)
        await #expect(throws: CancellationError.self) { try await task.value }
        source.answer(0, .success("late"))
        await Task.yield()
        #expect(forecast.text.isEmpty)
    }

    @Test func `invalidating makes data outdated, and loading makes it current`() async throws {
        let task = await begin()
        source.answer(0, .success("rain"))
        try await task.value
        #expect(!forecast.isOutdated)
        try await forecast.invalidate(erase: true)
        #expect(forecast.isOutdated && forecast.isLoaded)
        #expect(forecast.erasures == [true])
        let again = Task { try await forecast.loadIfNeeded() }
        await source.hasBegun(2)
        #expect(source.loads[1].policy == .revalidate)
        source.answer(1, .success("sun"))
        try await again.value
        #expect(!forecast.isOutdated)
    }

    @Test func `data is outdated beyond its expiry, and never without one`() async throws {
        let task = await begin()
        source.answer(0, .success("rain"))
        try await task.value
        forecast.loadState.expiry = .seconds(100)
        #expect(!forecast.isOutdated)
        forecast.loadState.expiry = .seconds(99)
        #expect(forecast.isOutdated)
        forecast.loadState.expiry = nil
        #expect(!forecast.isOutdated)
    }

    @Test func `an error ends the automatic reload of outdated data`() async throws {
        let task = await begin()
        source.answer(0, .success("rain"))
        try await task.value
        try await forecast.invalidate()
        let failing = Task { try await forecast.loadIfNeeded() }
        await source.hasBegun(2)
        source.answer(1, .failure(Refusal()))
        await #expect(throws: Refusal.self) { try await failing.value }
        try await forecast.loadIfNeeded()
        #expect(source.loads.count == 2)
    }

    @Test func `resetting ends the running load, and the object counts as never loaded`() async throws {
        var events: [LoadEvent.Kind] = []
        let token = forecast.observeLoading([.reset, .canceled]) { events.append($1.kind) }
        let task = await begin()
        forecast.reset()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(!forecast.isLoaded && !forecast.isLoading)
        #expect(events == [.canceled, .reset])
        token.cancel()
    }

    @Test func `an observer that is removed during an event does not receive it`() async throws {
        var heard = 0
        var second: ObserverToken?
        let first = forecast.loadState.observe { _ in second = nil }
        second = forecast.loadState.observe { _ in heard += 1 }
        #expect(second != nil)
        let task = await begin()
        source.answer(0, .success("rain"))
        try await task.value
        #expect(heard == 0)
        first.cancel()
    }

    @Test func `a caller that is canceled after the data has arrived leaves no running load`() async throws {
        let task = await begin()
        source.answer(0, .success("rain"))
        // The caller resumes on this actor, which is busy until the caller is canceled.
        source.waitForEnd()
        task.cancel()
        _ = await task.result
        #expect(!forecast.isLoading)
        let again = await begin(after: 1)
        source.answer(1, .success("sun"))
        try await again.value
        #expect(forecast.text == "sun")
    }

    @Test func `a load that is canceled after its data has arrived applies nothing`() async throws {
        let task = await begin()
        source.answer(0, .success("rain"))
        source.waitForEnd()
        forecast.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(forecast.text.isEmpty && !forecast.isLoading && !forecast.isLoaded)
    }

    @Test func `data that is invalidated during its load is outdated`() async throws {
        let task = await begin()
        try await forecast.invalidate()
        source.answer(0, .success("rain"))
        try await task.value
        #expect(forecast.isLoaded && forecast.isOutdated)
    }

    @Test func `a canceled task begins no load`() async throws {
        let first = await begin()
        let second = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await forecast.load(policy: .reload)
        }
        await #expect(throws: CancellationError.self) { try await second.value }
        source.answer(0, .success("rain"))
        try await first.value
        #expect(forecast.text == "rain" && source.loads.count == 1)
    }

    @Test func `a load that has replaced others ends when the last caller of all of them is canceled`() async throws {
        let first = await begin()
        first.cancel()
        let second = await begin(Load(policy: .reload), after: 1)
        let third = await begin(Load(policy: .revalidate), after: 2)
        await #expect(throws: CancellationError.self) { try await first.value }
        third.cancel()
        second.cancel()
        _ = await second.result
        _ = await third.result
        #expect(!forecast.isLoading && source.canceled == 3)
    }

    @Test func `a load that replaces one whose data is being prepared ends when its last caller is canceled`() async {
        let (old, new) = (flight(at: .beginning), flight(at: .beginning.next))
        let preparing = Task {
            await old.preparing {
                old.end(.superseded(by: new))
                withUnsafeCurrentTask { $0?.cancel() }
            }
        }
        #expect(await preparing.value)
        // It was the only caller.
        #expect(new.isCanceled)
    }

    @Test func `a load that replaces one whose data is being prepared expects the caller`() async {
        let (old, new) = (flight(at: .beginning), flight(at: .beginning.next))
        let isCanceled = await old.preparing {
            old.end(.superseded(by: new))
            let other = Task { await new.completion() }
            other.cancel()
            _ = await other.value
        }
        #expect(!isCanceled && !new.isCanceled)
        new.end(.loaded("rain"))
        _ = await new.completion(wasExpected: true)
        #expect(!new.isCanceled)
    }

    private func flight(at time: SyncTime) -> LoadFlight {
        LoadFlight(Load(), time: time) { [source] in try await source.load(Load()) }
    }

    // MARK: The presenter

    @Test func `a presenter shows loading, content and errors, and no event of a model that was replaced`() async throws
    {
        let presenter = LoadPresenter(forecast)
        var shown: [String] = []
        let token = presenter.observe { shown.append($0.name) }
        #expect(presenter.presentation.name == "nothing")
        let task = Task { await presenter.appear() }
        await source.hasBegun(1)
        #expect(presenter.presentation.name == "loading")
        source.answer(0, .failure(Refusal()))
        await task.value
        #expect(presenter.presentation.name == "error")
        let retry = Task { await presenter.retry() }
        await source.hasBegun(2)
        source.answer(1, .success("rain"))
        await retry.value
        #expect(presenter.presentation.name == "content" && !presenter.isRefreshing)
        #expect(shown == ["nothing", "loading", "error", "loading", "content"])
        let late = await begin(Load(policy: .reload), after: 2)
        #expect(presenter.isRefreshing)
        presenter.model = nil
        shown = []
        source.answer(2, .success("sun"))
        try await late.value
        #expect(shown.isEmpty)
        token.cancel()
    }

    @Test func `a presenter off screen reports nothing, and reports once when it is back`() async throws {
        let presenter = LoadPresenter(forecast)
        var shown: [String] = []
        let token = presenter.observe { shown.append($0.name) }
        let task = await begin()
        source.answer(0, .success("rain"))
        try await task.value
        #expect(shown.isEmpty)
        await presenter.appear()
        #expect(shown == ["content"])
        presenter.disappear()
        let again = await begin(Load(policy: .reload), after: 1)
        source.answer(1, .success("sun"))
        try await again.value
        #expect(shown == ["content"])
        token.cancel()
    }

    @Test func `a failed connection is shown as offline`() async throws {
        let presenter = LoadPresenter(forecast)
        let task = await begin()
        source.answer(0, .failure(ConnectionError(.cannotConnect, "no network")))
        await #expect(throws: ConnectionError.self) { try await task.value }
        #expect(presenter.presentation.name == "offline" && forecast.loadState.isOffline)
    }
}

extension Presentation {
    fileprivate var name: String {
        switch self {
        case .nothing: "nothing"
        case .loading: "loading"
        case .content: "content"
        case .empty: "empty"
        case .error: "error"
        case .offline: "offline"
        }
    }
}
