import DiamondSQLite
import HTTPTypes

/// A query of an engine, whatever the type of its value.
protocol AnyQuery: Sendable {
    func note(_ signal: QuerySignal)
    /// Ends the sequences of all observers.
    func finish()
}

/// An observed query: its observers, and the task that fetches for all of them.
///
/// ``Queries`` starts the task with the first observer and cancels it with the last. ``QueryLife`` decides what the
/// task does.
final class Query<Value: Sendable>: AnyQuery {
    typealias Observer = AsyncStream<QueryState<Value>>.Continuation
    typealias Answer = QueryLife<Value>.Answer

    fileprivate struct State {
        var life = QueryLife<Value>()
        var observers = Listeners<Observer>()
        var settings: [Int: QuerySettings] = [:]
        var task: Task<Void, Never>?
        /// The newest response of any call, without a cache.
        var newAnswer: NewAnswer?
    }

    private let state = Guarded(State())
    private let signal = Signal()
    private let pipeline: Pipeline
    private let source: QuerySource<Value>

    init(_ source: QuerySource<Value>, over pipeline: Pipeline) {
        self.source = source
        self.pipeline = pipeline
    }

    private var uptime: EngineTime { pipeline.time.clock.uptime() }
    private var now: WallTime { pipeline.exchangeEnvironment.now() }

    // MARK: Observers

    /// Adds an observer, which gets the current state if the store was read.
    ///
    /// - Returns: the number for ``remove(_:)``.
    func add(_ observer: Observer, with settings: QuerySettings) -> Int {
        let number = state.withLock { state in
            let number = state.observers.add(observer)
            state.settings[number] = settings
            if state.life.isReady { observer.yield(state.life.state) }
            if state.task == nil { state.task = Task.detached { [self] in await run() } }
            return number
        }
        // The interval may be shorter now.
        signal.wake()
        return number
    }

    /// Removes an observer. The last one ends the task.
    ///
    /// - Returns: the observer, which the caller releases where it holds no lock, and whether no observer is left.
    func remove(_ number: Int) -> (observer: Observer?, wasLast: Bool) {
        let (removed, task) = state.withLock { state -> (Observer?, Task<Void, Never>?) in
            state.settings[number] = nil
            let removed = state.observers.remove(number)
            return (removed, state.observers.isEmpty ? state.task : nil)
        }
        task?.cancel()
        return (removed, task != nil)
    }

    func finish() {
        let (observers, task) = state.withLock { ($0.observers.all, $0.task) }
        task?.cancel()
        for observer in observers { observer.finish() }
    }

    /// Changes the life. If `body` returns `true`, the state has changed, and all observers get it.
    private func change(_ body: (inout QueryLife<Value>) -> Bool) {
        state.withLock { state in
            if body(&state.life), state.life.isReady { state.observers.yield(state.life.state) }
        }
    }

    /// Changes the life, unless the user's data was erased since an epoch.
    private func change(in epoch: Int, _ body: (inout QueryLife<Value>) -> Void) {
        change { life in
            guard life.epoch == epoch else { return false }
            body(&life)
            return true
        }
    }

    // MARK: Events

    func note(_ signal: QuerySignal) {
        let hasWork = state.withLock { state in
            guard let event = signal.event(for: state.life, settings: state.settings.values) else { return false }
            state.note(signal, causing: event)
            let hasWork = state.life.note(event)
            if event == .forgotten, state.life.isReady { state.observers.yield(state.life.state) }
            return hasWork
        }
        if hasWork { self.signal.wake() }
    }

    // MARK: The task

    private func run() async {
        while !Task.isCancelled {
            let step = state.withLock { [uptime] in
                $0.life.nextStep(interval: $0.settings.values.interval, at: uptime)
            }
            switch step {
            case .lookUp(let need): await perform(need)
            case .wait(let limit):
                await signal.wait(within: limit.map { pipeline.time.clock.limit(.milliseconds($0)) })
            }
        }
    }

    /// Looks at the store, then shows the stored response and fetches as the plan says.
    private func perform(_ need: QueryNeed) async {
        var epoch = state.withLock { $0.life.epoch }
        let result: Result<Answer, ConnectionError>
        do throws(ConnectionError) {
            let request = source.request
            var lookup = try await pipeline.lookUp(request)
            let news = state.withLock { $0.news(for: lookup) }
            if let news { lookup.stored = QueryLookup.Stored(response: news.stored, condition: .stale) }
            let (plan, planned) = state.withLock { [lookup] state in
                (state.life.plan(for: need, mode: request.cache.mode, lookup: lookup), state.life.epoch)
            }
            epoch = planned
            var fetch = plan.fetch
            if plan.showsEntry, let stored = lookup.stored?.response,
                try await !show(stored, news: news, of: request, isLast: fetch == nil, in: epoch)
            {
                fetch = fetch ?? request.cache.mode.asking
            }
            guard let mode = fetch else { return change { [uptime] in $0.endLookup(at: uptime) } }
            change { $0.beginFetch() }
            result = .success(try await answer(to: request, mode: mode))
        } catch {
            result = .failure(error)
        }
        guard !Task.isCancelled else { return }
        change(in: epoch) { [uptime] in $0.end(result, at: uptime) }
    }

    /// Shows the stored response.
    ///
    /// - Parameters:
    ///   - news: the response to show if there is no cache.
    ///   - isLast: whether no fetch follows. If one follows, a response that cannot be shown is no error.
    /// - Returns: `false` if the response was not shown: it was removed after the lookup, it is a redirect whose target
    ///   is not stored, or it failed and a fetch follows.
    private func show(
        _ stored: StoredResponse, news: NewAnswer?, of request: Request, isLast: Bool, in epoch: Int
    ) async throws(ConnectionError) -> Bool {
        do throws(ConnectionError) {
            let (value, response) =
                if let news { try await source.read(news.response) } else {
                    try await source.load(request.forQuery(.cacheOnly))
                }
            let shown = Answer(
                value: value, response: response, receivedAt: stored.storedAt, originTime: stored.originTime)
            change(in: epoch) { [uptime] in $0.show(shown, isLast: isLast, at: uptime) }
            return true
        } catch {
            if isLast, error.response?.source != .generated { throw error }
            return false
        }
    }

    private func answer(to request: Request, mode: CachePolicy.Mode) async throws(ConnectionError) -> Answer {
        let (value, response) = try await source.load(request.forQuery(mode))
        let now = now
        let age = response.age?.milliseconds ?? 0
        var failure: ConnectionError?
        if let error = response.facts.failure as? ConnectionError {
            failure = await pipeline.transformed(error, for: Caller())
        }
        return Answer(
            value: value, response: response, receivedAt: now, originTime: now - age,
            failure: failure)
    }
}

extension Request {
    /// Returns the request of a query, which is not queued.
    fileprivate func forQuery(_ mode: CachePolicy.Mode) -> Request {
        var request = self
        request.cache.mode = mode
        request.replay = .never
        return request
    }
}

extension Query.State {
    /// Notes the response of another call, or that the known one is outdated.
    fileprivate mutating func note(_ signal: QuerySignal, causing event: QueryEvent) {
        if event == .outdated || event == .forgotten { newAnswer = nil }
        guard case .answer(let answer) = signal else { return }
        let isOlder = newAnswer.map { answer.stored.originTime < $0.stored.originTime } ?? false
        if !isOlder { newAnswer = answer }
    }

    /// Returns the response of another call; `nil` if there is none, or the query has it already.
    fileprivate func news(for lookup: QueryLookup) -> NewAnswer? {
        guard let newAnswer, newAnswer.key == lookup.subject.key,
            newAnswer.response.facts.exchange !== life.state.response?.facts.exchange
        else { return nil }
        return newAnswer
    }
}

/// The request of a query, and the functions that send and decode it.
struct QuerySource<Value: Sendable>: Sendable {
    let request: Request
    /// Sends a request, and returns its value and response.
    let load: @Sendable (Request) async throws(ConnectionError) -> (Value, Response)
    /// Returns the value and the response for a response that another call has received.
    let read: @Sendable (Response) async throws(ConnectionError) -> (Value, Response)
}
