import HTTPTypes
import Testing

@testable import Diamond

@Suite struct `The life of a connection` {
    enum Stage: CaseIterable {
        case ready, canceledReady, executing, canceledExecuting, finished, canceledFinished

        var life: ConnectionLife {
            var life = ConnectionLife()
            switch self {
            case .ready: break
            case .canceledReady: _ = life.cancel()
            case .executing: _ = life.start()
            case .canceledExecuting:
                _ = life.start()
                _ = life.cancel()
            case .finished:
                _ = life.start()
                _ = life.arrive(.success(Response(status: .ok)))
            case .canceledFinished:
                _ = life.cancel()
                _ = life.start()
            }
            return life
        }
    }

    @Test(
        arguments: [
            (.ready, .run, .settle, .nothing), (.canceledReady, .finish, .nothing, .nothing),
            (.executing, .nothing, .interrupt, .finish),
            (.canceledExecuting, .nothing, .nothing, .finish), (.finished, .nothing, .nothing, .nothing),
            (.canceledFinished, .nothing, .nothing, .nothing),
        ] as [(Stage, ConnectionLife.Action, ConnectionLife.Action, ConnectionLife.Action)])
    func `follows its table`(
        stage: Stage,
        start: ConnectionLife.Action,
        cancel: ConnectionLife.Action,
        arrive: ConnectionLife.Action
    ) {
        var (started, canceled, arrived) = (stage.life, stage.life, stage.life)
        #expect(started.start() == start)
        #expect(canceled.cancel() == cancel)
        #expect(arrived.arrive(.success(Response(status: .ok))) == arrive)
    }

    @Test func `keeps its first outcome`() throws {
        var life = ConnectionLife()
        _ = life.start()
        _ = life.arrive(.success(Response(status: .ok)))
        _ = life.arrive(.failure(.cancelled))
        #expect(try life.outcome?.get().status == .ok)
    }
}
