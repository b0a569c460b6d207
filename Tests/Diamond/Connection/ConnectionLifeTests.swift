import DiamondTestSupport
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("The lifecycle of a connection") struct ConnectionLifeTests {
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
                _ = life.concludeIfAllowed()
                return Action.nothing
            }
            let send = { (life: inout ConnectionLife) in
                _ = life.beginIfAllowed()
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
            case .pausedUnrepeatable: return [start, send, hold]
            case .pausedAnswered: return [start, send, hold, endRun]
            case .finished: return [start, endRun]
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

    private static func endRun(_ life: inout ConnectionLife) -> Action {
        life.endRun(with: .success(Response(status: .ok)))
    }

    @Test(arguments: table)
    func `a lifecycle follows its transition table`(row: Row) {
        func after(_ step: (inout ConnectionLife) -> Action) -> Action {
            var life = row.stage.life
            return step(&life)
        }
        #expect(after { $0.start() } == row.start)
        #expect(after { $0.cancel() } == row.cancel)
        #expect(after { $0.pause(isRepeatable: true) } == row.pause)
        #expect(after { $0.resume() } == row.resume)
        #expect(after(Self.endRun) == row.arrive)
    }

    @Test func `a lifecycle has every stage in its table`() { #expect(Self.table.map(\.stage) == Stage.allCases) }

    @Test func `a lifecycle stores its first outcome`() throws {
        var life = ConnectionLife()
        _ = life.start()
        _ = Self.endRun(&life)
        _ = life.endRun(with: .failure(.cancelled))
        #expect(try life.outcome?.get().status == .ok)
        #expect(life.state == .finished(.success))
    }

    @Test func `a lifecycle reports its stage`() {
        var life = ConnectionLife()
        #expect(life.state == .ready)
        _ = life.start()
        #expect(life.state == .executing(attempt: 1))
        let date = Date(timeIntervalSince1970: 1)
        _ = life.proceed(.waiting(until: date))
        #expect(life.state == .waiting(until: date))
        _ = life.proceed(.attempt(2))
        #expect(life.state == .executing(attempt: 2))
        _ = life.pause(isRepeatable: true)
        #expect(life.state == .paused)
        _ = life.resume()
        #expect(life.state == .executing(attempt: 1))
        _ = life.cancel()
        _ = Self.endRun(&life)
        #expect(life.state == .finished(.cancelled))
    }

    @Test func `a lifecycle needs one resume for every pause`() {
        var life = ConnectionLife()
        _ = life.start()
        #expect(life.pause(isRepeatable: true) == .suspend)
        #expect(life.pause(isRepeatable: true) == .nothing)
        #expect(life.resume() == .nothing)
        #expect(life.resume() == .run)
        #expect(life.resume() == .nothing)
    }

    @Test func `a lifecycle ignores a run that a pause has given up`() {
        var life = ConnectionLife()
        _ = life.start()
        _ = life.pause(isRepeatable: true)
        #expect(!life.beginIfAllowed() && !life.concludeIfAllowed() && !life.recordIfAllowed())
        #expect(life.endRun(with: .success(Response(status: .ok))) == .nothing && life.state == .paused)
        #expect(life.resume() == .run && life.state == .executing(attempt: 1))
    }

    @Test func `a lifecycle stores the outcome of a run that could not be given up`() {
        var life = ConnectionLife()
        _ = life.start()
        #expect(life.concludeIfAllowed() && life.pause(isRepeatable: true) == .nothing)
        #expect(Self.endRun(&life) == .nothing && life.state == .paused)
        #expect(life.resume() == .finish)
    }

    @Test func `a lifecycle lets a run record its outcome, canceled or not`() {
        var life = ConnectionLife()
        _ = life.start()
        #expect(life.recordIfAllowed() && life.pause(isRepeatable: true) == .nothing)
        #expect(life.resume() == .nothing && life.cancel() == .interrupt)
        #expect(life.recordIfAllowed() && !life.concludeIfAllowed())
    }

    @Test func `a lifecycle gives up a run that has sent nothing, repeatable or not`() {
        var life = ConnectionLife()
        _ = life.start()
        #expect(life.pause(isRepeatable: false) == .suspend)
        #expect(life.resume() == .run)
        #expect(life.beginIfAllowed() && life.pause(isRepeatable: false) == .nothing)
    }

    @Test func `a lifecycle allows no further attempt of an unrepeatable request while it is paused`() {
        var life = ConnectionLife()
        _ = life.start()
        _ = life.beginIfAllowed()
        _ = life.pause(isRepeatable: false)
        #expect(!life.beginIfAllowed() && !life.isUnderWay)
        #expect(life.resume() == .run)
    }

    /// In any order of events, work that was begun ends once, and the connection finishes once.
    @Test(arguments: 0..<50)
    func `a lifecycle finishes once, whatever happens`(seed: UInt64) {
        var random = SplitMix(state: seed)
        var life = ConnectionLife()
        var finishes = 0
        var isRunning = false
        func note(_ action: Action) {
            switch action {
            case .run:
                #expect(!isRunning)
                isRunning = true
            case .suspend: isRunning = false
            case .end: note(life.endRun(with: .failure(.cancelled)))
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
            case 6:
                _ = life.beginIfAllowed()
                if !life.isUnderWay { isRunning = false }
            default:
                if isRunning, random.next() % 10 == 0 {
                    isRunning = false
                    note(life.endRun(with: .failure(.cancelled)))
                }
            }
        }
        note(life.start())
        for _ in 0..<200 { note(life.resume()) }
        note(life.endRun(with: .success(Response(status: .ok))))
        #expect(finishes == 1 && life.isFinished)
    }
}
