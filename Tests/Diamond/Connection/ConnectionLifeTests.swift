import DiamondTestSupport
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite struct `The life of a connection` {
    typealias Action = ConnectionLife.Action

    enum Stage: CaseIterable {
        case ready, readyPaused, readyCanceled, executing, concluding, executingCanceled
        case paused, pausedBeforeStart, pausedUnrepeatable, pausedAnswered, finished, finishedCanceled

        var life: ConnectionLife {
            var life = ConnectionLife()
            for step in steps { _ = step(&life) }
            return life
        }

        private var steps: [(inout ConnectionLife) -> Action] {
            let pause = { (life: inout ConnectionLife) in life.pause(isRepeatable: true) }
            let hold = { (life: inout ConnectionLife) in life.pause(isRepeatable: false) }
            let start = { (life: inout ConnectionLife) in life.start() }
            let cancel = { (life: inout ConnectionLife) in life.cancel() }
            let conclude = { (life: inout ConnectionLife) in
                _ = life.concludes(life.run)
                return Action.nothing
            }
            switch self {
            case .ready: return []
            case .readyPaused: return [pause]
            case .readyCanceled: return [cancel]
            case .executing: return [start]
            case .concluding: return [start, conclude]
            case .executingCanceled: return [start, cancel]
            case .paused: return [start, pause]
            case .pausedBeforeStart: return [pause, start]
            case .pausedUnrepeatable: return [start, hold]
            case .pausedAnswered: return [start, hold, arrive]
            case .finished: return [start, arrive]
            case .finishedCanceled: return [cancel, start]
            }
        }
    }

    struct Row: CustomTestStringConvertible {
        var stage: Stage
        var start = Action.nothing
        var cancel = Action.nothing
        var pause = Action.nothing
        var resume = Action.nothing
        var arrive = Action.nothing
        var testDescription: String { "\(stage)" }
    }

    static let table = [
        Row(stage: .ready, start: .run, cancel: .settle),
        Row(stage: .readyPaused, cancel: .settle),
        Row(stage: .readyCanceled, start: .finish),
        Row(stage: .executing, cancel: .interrupt, pause: .suspend, arrive: .finish),
        Row(stage: .concluding, cancel: .interrupt, arrive: .finish),
        Row(stage: .executingCanceled, arrive: .finish),
        Row(stage: .paused, cancel: .end, resume: .run),
        Row(stage: .pausedBeforeStart, cancel: .end, resume: .run),
        Row(stage: .pausedUnrepeatable, cancel: .interrupt),
        Row(stage: .pausedAnswered, cancel: .end, resume: .finish),
        Row(stage: .finished),
        Row(stage: .finishedCanceled),
    ]

    private static func arrive(_ life: inout ConnectionLife) -> Action {
        life.arrive(.success(Response(status: .ok)), from: life.run)
    }

    @Test(arguments: table)
    func `follows its table`(row: Row) {
        func after(_ step: (inout ConnectionLife) -> Action) -> Action {
            var life = row.stage.life
            return step(&life)
        }
        #expect(after { $0.start() } == row.start)
        #expect(after { $0.cancel() } == row.cancel)
        #expect(after { $0.pause(isRepeatable: true) } == row.pause)
        #expect(after { $0.resume() } == row.resume)
        #expect(after(Self.arrive) == row.arrive)
    }

    @Test func `has every stage in its table`() { #expect(Self.table.map(\.stage) == Stage.allCases) }

    @Test func `keeps its first outcome`() throws {
        var life = ConnectionLife()
        _ = life.start()
        _ = Self.arrive(&life)
        _ = life.arrive(.failure(.cancelled), from: life.run)
        #expect(try life.outcome?.get().status == .ok)
        #expect(life.state == .finished(.success))
    }

    @Test func `tells where it stands`() {
        var life = ConnectionLife()
        #expect(life.state == .ready)
        _ = life.start()
        #expect(life.state == .executing(attempt: 1))
        let date = Date(timeIntervalSince1970: 1)
        _ = life.proceed(life.run, .waiting(until: date))
        #expect(life.state == .waiting(until: date))
        _ = life.proceed(life.run, .attempt(2))
        #expect(life.state == .executing(attempt: 2))
        _ = life.pause(isRepeatable: true)
        #expect(life.state == .paused)
        _ = life.resume()
        #expect(life.state == .executing(attempt: 1))
        _ = life.cancel()
        _ = Self.arrive(&life)
        #expect(life.state == .finished(.cancelled))
    }

    @Test func `nests its pauses`() {
        var life = ConnectionLife()
        _ = life.start()
        #expect(life.pause(isRepeatable: true) == .suspend)
        #expect(life.pause(isRepeatable: true) == .nothing)
        #expect(life.resume() == .nothing)
        #expect(life.resume() == .run)
        #expect(life.resume() == .nothing)
    }

    @Test func `takes no notice of a run that a pause has ended`() {
        var life = ConnectionLife()
        _ = life.start()
        let old = life.takeRun() ?? 0
        _ = life.pause(isRepeatable: true)
        _ = life.resume()
        #expect(!life.wants(old) && !life.takeUp(old))
        _ = life.proceed(old, .attempt(5))
        #expect(life.arrive(.success(Response(status: .ok)), from: old) == .nothing)
        #expect(life.state == .executing(attempt: 1))
    }

    @Test func `holds what has come to its end while it is paused, and only that run`() {
        var life = ConnectionLife()
        _ = life.start()
        let first = life.run
        _ = life.pause(isRepeatable: true)
        let whilePaused = life.concludes(first)
        _ = life.resume()
        let afterwards = (life.concludes(first), life.concludes(life.run))
        #expect(!whilePaused && afterwards == (false, true))
        #expect(life.pause(isRepeatable: true) == .nothing)
        #expect(Self.arrive(&life) == .nothing && life.state == .paused)
        #expect(life.resume() == .finish)
    }

    @Test func `lets a run write down what it has come to, canceled or not, and none that a pause has ended`() {
        var life = ConnectionLife()
        _ = life.start()
        let first = life.run
        _ = life.pause(isRepeatable: true)
        let whilePaused = life.records(first)
        _ = life.resume()
        let afterwards = (life.records(first), life.records(life.run))
        #expect(!whilePaused && afterwards == (false, true))
        #expect(life.pause(isRepeatable: true) == .nothing)
        #expect(life.resume() == .nothing && life.cancel() == .interrupt)
        let whenCanceled = (life.records(life.run), life.concludes(life.run))
        #expect(whenCanceled == (true, false))
    }

    @Test func `begins anew what was withdrawn from its line, however many pause it`() {
        var life = ConnectionLife()
        _ = life.start()
        #expect(life.pause(isRepeatable: false) == .nothing)
        #expect(life.pause(isRepeatable: false, isWithdrawn: true) == .suspend)
        #expect(life.resume() == .nothing && life.resume() == .run)
    }

    @Test func `sends nothing of a run that was paused before anybody took it`() {
        var life = ConnectionLife()
        _ = life.start()
        _ = life.pause(isRepeatable: false)
        #expect(life.takeRun() == nil)
        #expect(life.resume() == .run && life.takeRun() != nil)
        _ = life.pause(isRepeatable: false)
        #expect(!life.takeUp(life.run) && life.resume() == .run)
    }

    @Test func `is run by one at a time`() {
        var life = ConnectionLife()
        _ = life.start()
        let run = life.takeRun()
        #expect(run != nil && life.takeRun() == nil)
        #expect(life.takeUp(run ?? 0) && life.takeRun() == run)
    }

    /// Whatever happens in whatever order, work that was begun is ended once, and the whole finishes once.
    @Test(arguments: 0..<50)
    func `finishes once, whatever happens`(seed: UInt64) {
        var random = SplitMix(state: seed)
        var life = ConnectionLife()
        var finishes = 0
        var running: Int?
        func note(_ action: Action) {
            switch action {
            case .run: running = life.takeRun()
            case .suspend: running = nil
            case .end: note(life.arrive(.failure(.cancelled), from: life.run))
            case .finish: finishes += 1
            case .nothing, .interrupt, .settle: break
            }
        }
        for _ in 0..<200 {
            switch random.next() % 8 {
            case 0: note(life.start())
            case 1 where random.next() % 10 == 0: note(life.cancel())
            case 2, 3: note(life.pause(isRepeatable: random.next() % 2 == 0))
            case 4, 5: note(life.resume())
            case 6: note(life.arrive(.success(Response(status: .ok)), from: (running ?? life.run) - 1))
            default:
                if let run = running, random.next() % 10 == 0 { note(life.arrive(.failure(.cancelled), from: run)) }
            }
        }
        note(life.start())
        for _ in 0..<200 { note(life.resume()) }
        note(life.arrive(.success(Response(status: .ok)), from: life.run))
        #expect(finishes == 1 && life.isFinished)
    }
}
