#if Tools
import ArgumentParser
import Diamond
import Foundation

/// The store of a command: the one that options name, otherwise that of the environment.
struct StoreChoice {
    /// The directory of `--store`.
    var store: String?
    /// The program of `--app`.
    var app: String?

    /// Throws a usage error if the options name no store, or more than one.
    func check() throws {
        // An unset variable in a script must not select the default store.
        guard store != "" else {
            throw ValidationError("--store is empty: name the store's directory, or leave the option out")
        }
        guard app != "" else { throw ValidationError("--app is empty: name the program, or leave the option out") }
        guard store == nil || app == nil else {
            throw ValidationError("--store and --app name two stores: leave one out")
        }
        if let app, names(of: app).count > 1 {
            let words = names(of: app).map { "--app \($0.shellArgument)" }.joined(separator: ", ")
            throw ValidationError("several programs are called '\(app)': choose one with \(words)")
        }
    }

    /// The options that select the same store for another command, each after a space.
    var optionText: String {
        [("store", store), ("app", app)].compactMap { name, value in value.map { " --\(name)=\($0.shellArgument)" } }
            .joined()
    }

    /// Whether an option names the store.
    var isNamed: Bool { store != nil || app != nil }

    /// Whether an option or the variable names the store.
    var isChosen: Bool { isNamed || !variable("DIAMOND_STORE").isEmpty }

    /// Returns the value of a variable of the environment; empty if it is unset.
    func variable(_ name: String) -> String { ProcessInfo.processInfo.environment[name] ?? "" }

    var location: Store {
        if let app { return Store(named: names(of: app).first ?? app) }
        let path = [store ?? "", variable("DIAMOND_STORE")].first { !$0.isEmpty }
        return path.map { Store(directory: Self.directory($0)) } ?? Store(named: "cachectl")
    }

    static func directory(_ path: String) -> URL { URL(fileURLWithPath: path, isDirectory: true) }

    /// Returns the stores that a name can refer to: the store with that name, or those of the programs with that name.
    private func names(of app: String) -> [String] {
        Store(named: app).isThere ? [app] : Store.names(ofPrograms: app)
    }
}

extension String {
    /// The string as a shell argument, in quotes if a shell would change it.
    var shellArgument: String {
        let isPlain = allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "-._/".contains($0)) }
        return isPlain && !isEmpty ? self : shellWord
    }
}
#endif
