import Diamond
import Foundation

/// The program without its command line: an engine, the session of its user, and a function for each command.
final class Client {
    let engine: Engine
    let session: Session

    /// - Parameter key: the key that the store is sealed with.
    init(server: String, store: Store, key: Data) throws {
        session = Session(file: store.replayDirectory.appending(path: "session.json"))
        var configuration = Engine.Configuration(store: store)
        configuration.baseURL = server
        configuration.credentials = session
        configuration.defaults = RequestDefaults.signed
        configuration.seal = try AESGCMSeal(key: key)
        engine = Engine(configuration)
    }

    /// The signed-in user.
    func user() throws -> String {
        guard let user = session.user else { throw Failure("nobody is signed in: SampleClient login USER") }
        return user
    }

    /// Returns the output of a call, or its stored output if the server cannot be reached. Reports stored data with
    /// its age.
    func output<Call: Endpoint>(of call: Call) async throws -> Call.Output {
        let response = try await response(to: call)
        if [.cache, .stale].contains(response.source) {
            Terminal.notice("stored data, \(Terminal.text(response.age ?? .zero)) old")
        }
        return response.value
    }

    private func response<Call: Endpoint>(to call: Call) async throws -> TypedResponse<Call.Output> {
        do throws(ConnectionError) {
            return try await engine.response(to: call)
        } catch {
            guard error.isOffline else { throw error }
            return try await storedResponse(to: call, after: error)
        }
    }

    private func storedResponse<Call: Endpoint>(
        to call: Call, after failure: ConnectionError
    ) async throws -> TypedResponse<Call.Output> {
        var request = try call.request
        request.cache = .cacheOnly
        do throws(ConnectionError) {
            return try await engine.response(to: request.decoding(Call.Output.self))
        } catch {
            guard error.code == .notStored else { throw error }
            throw Failure("\(failure.message); nothing is stored for this")
        }
    }
}

/// An error whose message is for the user.
nonisolated struct Failure: LocalizedError {
    let errorDescription: String?
    init(_ message: String) { errorDescription = message }
}
