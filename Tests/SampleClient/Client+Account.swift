import Diamond

extension Client {
    /// Signs a user in. The profile is requested with the token of the login, and proves that the server accepts it.
    func login(_ user: String, password: String) async throws {
        if let user = session.user { throw Failure("\(user) is signed in: SampleClient logout") }
        let login = engine.start(Login(user: user, password: password))
        let profile = engine.connection(for: GetProfile())
        profile.addDependency(login) { [session] _, login in session.begin(login) }
        engine.start(profile)

        let name = try await profile.output.name
        try session.save()
        // Notes that were queued before the last logout may be sent again, and do not wait for the end of their
        // backoff.
        let queue = try engine.queue()
        let released = try await queue.release(.identity(name))
        try await queue.retry(ReplayFilter(states: [.waiting], identity: name))
        Terminal.line("signed in as \(name)" + (released > 0 ? ", \(released) queued" : ""))
    }

    /// Signs the user out: erases the stored responses and the notes that were sent, and holds the queued notes until
    /// the next login.
    ///
    /// - Parameter discardsNotes: whether to erase the queued notes, too.
    func logout(discardingNotes discardsNotes: Bool) async throws {
        let user = try user()
        do throws(ConnectionError) {
            _ = try await engine.send(Logout())
        } catch {
            Terminal.notice("the server still accepts the token: \(error.message)")
        }
        try session.end()
        let erased = try await engine.forget(identity: user, discardingJobs: discardsNotes)
        Terminal.line("signed out \(user), \(erased) stored responses erased")
    }
}
