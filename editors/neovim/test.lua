-- Opens the demo's core in Neovim with the configuration in docs/editor.md, and checks the state of nvim-dap. `.ci/editor` runs
-- this test.
--
--   NVIM_DAP   the folder of nvim-dap
--   ROOT       the folder of the project
--   PATH       must contain the command hetdwarf
local root = os.getenv('ROOT')
vim.opt.runtimepath:append(os.getenv('NVIM_DAP'))

local function check(what, is_true)
  if not is_true then
    io.stderr:write('editors/neovim/test.lua: ' .. what .. '\n')
    vim.cmd('cquit')
  end
end

local function wait(what, condition)
  check(what .. ': it did not happen within 20 seconds', vim.wait(20000, condition, 20))
end

-- The configuration from the documentation.
local text = table.concat(vim.fn.readfile(root .. '/docs/editor.md'), '\n')
assert(loadstring(text:match('```lua\n(.-)```')))()

local dap = require('dap')
vim.cmd('cd ' .. root .. '/examples/demo')
vim.cmd('GpuCore demo.core')
wait('a frame with its scopes', function()
  local session = dap.session()
  return session and session.current_frame and session.current_frame.scopes
end)
local session = dap.session()

local function at(file, line)
  return vim.api.nvim_buf_get_name(0):sub(-#file) == file and vim.api.nvim_win_get_cursor(0)[1] == line
end

wait('the line at fault is shown', function() return at('/calls-O2.cl', 10) end)
check('the wave at fault', session.stopped_thread_id == 3)
check('its name', session.threads[3].name == 'wave 1:381:(2,0,0)/0 k  memory violation')
local names = vim.tbl_map(function(frame) return frame.name end, session.threads[3].frames)
check('its frames', table.concat(names, ' ') == 'leaf mid k k')

-- Sends a command or an expression to the REPL, and returns the answer.
local function answer(expression)
  local found
  session:request('evaluate', { expression = expression, context = 'repl', frameId = session.current_frame.id }, function(err, body)
    found = err and err.message or body.result
  end)
  wait(expression, function() return found end)
  return found
end

check('all lanes', answer('x') == '2 values: -3 ×7, 99 ×6')
check('a lane', answer('lane 3') == 'lane 3 of wave 3')
check('its value', answer('a + x') == '102')
check('an error', answer('nosuch') == 'there is no `nosuch` here')

dap.up()
wait('the caller', function() return session.current_frame.name == 'mid' and at('/calls-O2.cl', 19) end)
answer('wave 2')
wait('another wave', function() return session.stopped_thread_id == 2 and session.current_frame and session.current_frame.name == 'mid' end)

dap.terminate()
wait('the end', function() return dap.session() == nil end)
print('neovim: the core opens, frames, lanes and waves are shown\n')
vim.cmd('qall!')
