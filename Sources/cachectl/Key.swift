#if Tools
import ArgumentParser
import Diamond
import Foundation

struct Key: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Prints a request's canonical form and the key it makes.",
        discussion: """
            Two requests with one key are the same to the cache. Credentials appear as digests keyed with the store's \
            secret: with another store they, and the key, are others.
            """
    )

    @OptionGroup var store: StoreOptions
    @OptionGroup var options: RequestOptions

    func run() throws {
        let request = try options.request()
        let rules = try rules()
        do throws(RequestError) {
            try show(CanonicalForm(of: request, rules: rules))
        } catch {
            throw Failure.report(error)
        }
    }

    private func rules() throws -> KeyRules {
        do throws(CacheError) {
            return try Cache(store.location, create: false).rules
        } catch {
            // A store that is not there yet has no secret; nothing is made for looking at a key.
            guard error.code == .noStore else { throw Failure.report(error) }
            return KeyRules()
        }
    }

    private func show(_ form: CanonicalForm) {
        guard store.json else { return Output.line(form.text + "key \(form.key)") }
        Output.json(["canonicalForm": form.text, "key": form.key.description])
    }
}
#endif
