#if Tools
import ArgumentParser
import Diamond
import Foundation

/// Which store a command works on, and in which form it tells.
struct PlaceOptions: ParsableArguments {
    @Option(name: .long, help: ArgumentHelp("The store's directory.", valueName: "DIR"))
    var store: String?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "The program that keeps it: the identifier of its bundle, or its name.", valueName: "NAME"))
    var app: String?

    @Flag(name: .long, help: "Print JSON.")
    var json = false

    func validate() throws {
        // A variable of a script that is not set must not mean the default store.
        guard store != "" else {
            throw ValidationError("--store is empty: name the store's directory, or leave the option out")
        }
        guard app != "" else { throw ValidationError("--app is empty: name the program, or leave the option out") }
        guard store == nil || app == nil else {
            throw ValidationError("--store and --app name two stores: leave one of them out")
        }
        if let app, names(of: app).count > 1 {
            let words = names(of: app).map { "--app \($0.shellArgument)" }.joined(separator: ", ")
            throw ValidationError("several programs are called '\(app)': name one by \(words)")
        }
    }

    /// The options that name the same store to another command, each behind a blank.
    var words: String {
        [("store", store), ("app", app)].compactMap { name, value in value.map { " --\(name)=\($0.shellArgument)" } }
            .joined()
    }

    var location: Store {
        if let app { return Store(named: names(of: app).first ?? app) }
        let path = [store, ProcessInfo.processInfo.environment["DIAMOND_STORE"]].compactMap { $0 }.first { !$0.isEmpty }
        return path.map { Store(directory: URL(fileURLWithPath: $0, isDirectory: true)) } ?? Store(named: "cachectl")
    }

    /// The stores that a name may mean: the one that has it, or those of the programs that are called so.
    private func names(of app: String) -> [String] {
        Store(named: app).isThere ? [app] : Store.names(ofPrograms: app)
    }

    /// The queue of a store that has one; looking makes none.
    func openQueue() throws -> ReplayQueue {
        do throws(ReplayError) { return try ReplayQueue(existing: location) } catch { throw Failure.report(error) }
    }

    /// `nil` where there is a store, and nothing was ever queued in it: nothing to list, and nothing amiss.
    func findQueue() throws -> ReplayQueue? {
        do throws(ReplayError) {
            return try ReplayQueue(existing: location)
        } catch {
            guard error.code == .noStore, location.isThere else { throw Failure.report(error) }
            return nil
        }
    }
}
#endif
